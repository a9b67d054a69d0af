"""The tree of an expression: each node knows where in the text it stands.

``&&`` and ``||`` take any number of operands, as in GitHub's own tree, so that a long chain is no deep tree.
Parentheses leave no node behind.
"""

from collections.abc import Iterator
from typing import TypeAlias


class _Placed:
    """What every node has. Each sets it by itself: a call of ``super`` costs more than all the rest of a node."""

    __slots__ = ("end", "mentions", "needed", "start")
    start: int
    end: int
    mentions: "tuple[tuple[Name, ...], tuple[Call, ...]] | None"
    """Remembered once it was asked for."""
    needed: tuple[tuple[str, ...], tuple[str, ...]] | None
    """The contexts and functions without which it has no value; remembered once nothing else was wrong with it."""


class Literal(_Placed):
    """A value written down."""

    __slots__ = ("value",)

    def __init__(self, value: bool | float | str | None, start: int, end: int) -> None:  # noqa: FBT001 - it is a value
        self.start, self.end, self.mentions, self.needed = start, end, None, None
        self.value = value


class Name(_Placed):
    """A context; `key` is its name in small letters."""

    __slots__ = ("key", "name")

    def __init__(self, name: str, start: int, end: int) -> None:
        self.start, self.end, self.mentions, self.needed = start, end, None, None
        self.name = name
        self.key = name.lower()


class Property(_Placed):
    """``target.name``."""

    __slots__ = ("name", "target")

    def __init__(self, target: "Node", name: str, start: int, end: int) -> None:
        self.start, self.end, self.mentions, self.needed = start, end, None, None
        self.target = target
        self.name = name


class Index(_Placed):
    """``target[index]``."""

    __slots__ = ("index", "target")

    def __init__(self, target: "Node", index: "Node", start: int, end: int) -> None:
        self.start, self.end, self.mentions, self.needed = start, end, None, None
        self.target = target
        self.index = index


class Star(_Placed):
    """``target.*`` or ``target[*]``."""

    __slots__ = ("target",)

    def __init__(self, target: "Node", start: int, end: int) -> None:
        self.start, self.end, self.mentions, self.needed = start, end, None, None
        self.target = target


class Call(_Placed):
    """``name(arguments)``; `key` is the name in small letters."""

    __slots__ = ("arguments", "key", "name")

    def __init__(self, name: str, arguments: "tuple[Node, ...]", start: int, end: int) -> None:
        self.start, self.end, self.mentions, self.needed = start, end, None, None
        self.name = name
        self.key = name.lower()
        self.arguments = arguments


class Not(_Placed):
    """``!operand``."""

    __slots__ = ("operand",)

    def __init__(self, operand: "Node", start: int, end: int) -> None:
        self.start, self.end, self.mentions, self.needed = start, end, None, None
        self.operand = operand


class Binary(_Placed):
    """A comparison: ``== != < <= > >=``."""

    __slots__ = ("left", "operator", "right")

    def __init__(self, operator: str, left: "Node", right: "Node", start: int, end: int) -> None:
        self.start, self.end, self.mentions, self.needed = start, end, None, None
        self.operator = operator
        self.left = left
        self.right = right


class Logical(_Placed):
    """``&&`` or ``||`` between two or more operands."""

    __slots__ = ("operands", "operator")

    def __init__(self, operator: str, operands: "tuple[Node, ...]", start: int, end: int) -> None:
        self.start, self.end, self.mentions, self.needed = start, end, None, None
        self.operator = operator
        self.operands = operands


Node: TypeAlias = Literal | Name | Property | Index | Star | Call | Not | Binary | Logical


def children(node: Node) -> "tuple[Node, ...]":
    """Return the nodes right below a node, in the order of the text."""
    match node:
        case Literal() | Name():
            return ()
        case Property() | Star():
            return (node.target,)
        case Index():
            return (node.target, node.index)
        case Call():
            return node.arguments
        case Not():
            return (node.operand,)
        case Binary():
            return (node.left, node.right)
        case Logical():
            return node.operands


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, in the order of the text."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def mentions(node: Node) -> tuple[tuple[Name, ...], tuple[Call, ...]]:
    """Return the contexts and the calls in an expression, looked up once for each tree."""
    if node.mentions is None:
        found = tuple(walk(node))
        names = tuple(part for part in found if isinstance(part, Name))
        node.mentions = names, tuple(part for part in found if isinstance(part, Call))
    return node.mentions


def calls(node: Node, *keys: str) -> bool:
    """Whether one of these functions, named in small letters, is called anywhere in an expression."""
    return any(call.key in keys for call in mentions(node)[1])


def depth(node: Node) -> int:
    """Return how many nodes lie on the longest way down."""
    deepest, level = 0, [node]
    while level:
        deepest += 1
        level = [below for part in level for below in children(part)]
    return deepest
