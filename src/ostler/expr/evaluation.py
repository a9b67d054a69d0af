"""What an expression is worth: one function for each kind of node, and a purse for the text that functions may make."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from ostler.expr.errors import NOWHERE, ExpressionError, OutputTooLarge, WrongArgument
from ostler.expr.functions import STANDARD, Function
from ostler.expr.names import check_names
from ostler.expr.nodes import Binary, Call, Index, Literal, Logical, Name, Node, Not, Property, Star, mentions
from ostler.expr.values import (
    ARRAY,
    MISSING,
    OBJECT,
    STRING,
    Filtered,
    Value,
    as_text,
    equal,
    kind,
    less,
    member,
    position,
    truthy,
)

MAX_TOTAL = 32 * 1024 * 1024
"""The characters that all functions of one evaluation may make together."""

_COUNTED_FROM = 1024
_WEIGHT_OF_JSON = 4
_OBJECTS = (dict, Mapping)
"""Nearly all are dictionaries, and asking for these first is quick."""

_NO_FUNCTIONS: Mapping[str, Function] = {}


class Scope:
    """What a place offers to its expressions: contexts and functions by their names."""

    __slots__ = ("contexts", "functions")

    def __init__(self, contexts: Mapping[str, Value], functions: Mapping[str, Function] = _NO_FUNCTIONS) -> None:
        self.contexts = (
            contexts if all(map(str.islower, contexts)) else {name.lower(): contexts[name] for name in contexts}
        )
        self.functions = {name.lower(): function for name, function in functions.items()}


def evaluate(node: Node, scope: Scope) -> Value:
    """Return the value of an expression; every name in it must be known, also where it is never reached."""
    _check(node, scope)
    return _EVALUATE[type(node)](node, _Evaluation(scope))


def _check(node: Node, scope: Scope) -> None:
    """Check names; what is wrong with a tree anywhere is looked for once only."""
    if node.needed is None:
        check_names(node, scope.contexts, scope.functions)
        names, calls = mentions(node)
        own = {call.key for call in calls if call.key not in STANDARD and call.key != "case"}
        node.needed = tuple({name.key for name in names}), tuple(own)
        return
    names, functions = node.needed
    for name in names:
        if name not in scope.contexts:
            check_names(node, scope.contexts, scope.functions)
    for function in functions:
        if function not in scope.functions:
            check_names(node, scope.contexts, scope.functions)


class _Evaluation:
    """One evaluation: where names are looked up, and how much text was made."""

    __slots__ = ("contexts", "functions", "made")

    def __init__(self, scope: Scope) -> None:
        self.contexts = scope.contexts
        self.functions = scope.functions
        self.made = 0

    def value(self, node: Node) -> Value:
        return _EVALUATE[type(node)](node, self)

    def count(self, characters: int) -> None:
        self.made += characters
        if self.made > MAX_TOTAL:
            limit = MAX_TOTAL // 1024 // 1024
            raise OutputTooLarge(f"the functions of the expression make more than {limit} MiB of text together")


def _literal(node: Literal, within: _Evaluation) -> Value:
    return node.value


def _name(node: Name, within: _Evaluation) -> Value:
    return within.contexts[node.key]


def _property(node: Property, within: _Evaluation) -> Value:
    target = node.target
    value = _EVALUATE[type(target)](target, within)
    if isinstance(value, Filtered):
        return _of_each(value, node.name)
    if isinstance(value, _OBJECTS):
        found = value.get(node.name, MISSING)
        if found is MISSING:
            found = member(value, node.name)
        return None if found is MISSING else cast("Value", found)
    return None


def _index(node: Index, within: _Evaluation) -> Value:
    index = within.value(node.index)
    value = within.value(node.target)
    if isinstance(value, Filtered):
        return _of_each(value, index)
    found = _at(value, index)
    return None if found is MISSING else cast("Value", found)


def _of_each(values: Filtered, index: Value) -> Filtered:
    """Ask each element; those that have no such thing are left out."""
    found = (_at(value, index) for value in values)
    return Filtered(cast("Value", value) for value in found if value is not MISSING)


def _at(value: Value, index: Value) -> object:
    sort = kind(value)
    if sort == OBJECT:
        return member(cast("Mapping[str, Value]", value), as_text(index)) if kind(index) <= STRING else MISSING
    if sort == ARRAY:
        array = cast("Sequence[Value]", value)
        place = position(index)
        return array[place] if 0 <= place < len(array) else MISSING
    return MISSING


def _star(node: Star, within: _Evaluation) -> Filtered:
    value = within.value(node.target)
    if isinstance(value, Filtered):
        return Filtered(element for inner in value for element in _elements(inner))
    return Filtered(_elements(value))


def _elements(value: Value) -> Sequence[Value]:
    sort = kind(value)
    if sort == OBJECT:
        return list(cast("Mapping[str, Value]", value).values())
    return cast("Sequence[Value]", value) if sort == ARRAY else ()


def _not(node: Not, within: _Evaluation) -> bool:
    return not truthy(within.value(node.operand))


def _binary(node: Binary, within: _Evaluation) -> bool:
    left, right = node.left, node.right
    return _COMPARE[node.operator](_EVALUATE[type(left)](left, within), _EVALUATE[type(right)](right, within))


def _logical(node: Logical, within: _Evaluation) -> Value:
    stops = node.operator == "||"
    value: Value = None
    for operand in node.operands:
        value = _EVALUATE[type(operand)](operand, within)
        if truthy(value) is stops:
            break
    return value


def _call(node: Call, within: _Evaluation) -> Value:
    try:
        if node.key == "case":
            return _case(node, within)
        arguments = [_EVALUATE[type(argument)](argument, within) for argument in node.arguments]
        if node.key == "fromjson" and isinstance(arguments[0], str):
            within.count(len(arguments[0]) * _WEIGHT_OF_JSON)
        value = (STANDARD.get(node.key) or within.functions[node.key])(arguments)
        if isinstance(value, str) and len(value) > _COUNTED_FROM:
            within.count(len(value))
    except ExpressionError as error:
        if error.start == NOWHERE:
            error.start, error.end = node.start, node.end
        raise
    return value


def _case(node: Call, within: _Evaluation) -> Value:
    """Return the value behind the first true condition, looking at no later ones."""
    *pairs, otherwise = node.arguments
    for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
        held = within.value(condition)
        if not isinstance(held, bool):
            message = "a condition of case is neither true nor false"
            fix = "Compare it with something, or negate it twice: !!value."
            raise WrongArgument(message, condition.start, condition.end, expected="a boolean", fix=fix)
        if held:
            return within.value(value)
    return within.value(otherwise)


_COMPARE: dict[str, Callable[[Value, Value], bool]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": less,
    "<=": lambda left, right: less(left, right) or equal(left, right),
    ">": lambda left, right: less(right, left),
    ">=": lambda left, right: less(right, left) or equal(left, right),
}

_EVALUATE: dict[type[Node], Callable[[Node, _Evaluation], Value]] = cast(
    "dict[type[Node], Callable[[Node, _Evaluation], Value]]",
    {
        Literal: _literal,
        Name: _name,
        Property: _property,
        Index: _index,
        Star: _star,
        Call: _call,
        Not: _not,
        Binary: _binary,
        Logical: _logical,
    },
)
