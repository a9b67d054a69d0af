"""The types of an expression, from its leaves up, and what its types say cannot be meant."""

import math
from collections.abc import Callable
from typing import Final, TypeAlias

from ostler.expr.nodes import Binary, Call, Index, Literal, Logical, Name, Node, Not, Property, Star
from ostler.expr.spelling import did_you_mean
from ostler.expr.values import as_number
from ostler.workflow.checks.types import ANY, FLAG, NOTHING, NUMBER, TEXT, Any, Listing, Single, Structure, Type

Report: TypeAlias = Callable[[str, str, Node, str], None]
"""Takes a rule, a message, the part of the expression, and a fix."""
Lookup: TypeAlias = Callable[[str], Type]

_RETURNS: Final[dict[str, Type]] = {
    "contains": FLAG,
    "startswith": FLAG,
    "endswith": FLAG,
    "format": TEXT,
    "join": TEXT,
    "tojson": TEXT,
    "hashfiles": TEXT,
    "always": FLAG,
    "success": FLAG,
    "failure": FLAG,
    "cancelled": FLAG,
}
_TEXT_ONLY: Final = ("startswith", "endswith", "format")
_NOUNS: Final = {"text": "text", "number": "a number", "flag": "true or false", "null": "null"}


class Inference:
    """Infers types in one place."""

    def __init__(self, lookup: Lookup, report: Report) -> None:
        self._lookup = lookup
        self._report = report
        self._asked = 0
        """How many expressions around this one only ask whether there is a value."""

    def type_of(self, node: Node) -> Type:
        """Return the type of an expression."""
        match node:
            case Literal():
                return _literal(node)
            case Name():
                return self._lookup(node.key)
            case Property():
                return self._member(self.type_of(node.target), node.name, node)
            case Index():
                return self._index(node)
            case Star():
                target = self.type_of(node.target)
                return Listing(target.item if isinstance(target, Listing) else ANY, filtered=True)
            case Call():
                return self._call(node)
            case Not():
                self._ask(node.operand)
                return FLAG
            case Binary():
                self._compare(node)
                return FLAG
            case Logical():
                types = [self._ask(operand) for operand in node.operands[:-1]]
                types.append(self.type_of(node.operands[-1]))
                return types[0] if all(type_ == types[0] for type_ in types) else ANY

    def _ask(self, node: Node) -> Type:
        self._asked += 1
        type_ = self.type_of(node)
        self._asked -= 1
        return type_

    def _index(self, node: Index) -> Type:
        target = self.type_of(node.target)
        if isinstance(node.index, Literal) and isinstance(node.index.value, str):
            return self._member(target, node.index.value, node)
        self.type_of(node.index)
        return target.item if isinstance(target, Listing) and not target.filtered else ANY

    def _member(self, target: Type, name: str, node: Property | Index) -> Type:
        if isinstance(target, Listing):
            return Listing(self._member(target.item, name, node), filtered=True) if target.filtered else ANY
        if isinstance(target, Single):
            message = f"this is {_NOUNS[target.sort]}, which has no property {name[:60]!r}"
            self._report("expression-property", message, node, "")
            return ANY
        if isinstance(target, Any):
            return ANY
        known = target.keys.get(name.lower())
        if known is not None:
            return known[1]
        if target.others is not None:
            return target.others
        if self._asked and target.optional:
            return ANY
        fix = did_you_mean(name, [original for original, _ in target.keys.values()]) or target.fix
        if not fix and target.keys:
            fix = f"There is {', '.join(sorted(original for original, _ in target.keys.values())[:12])}."
        self._report("expression-property", f"there is no {name[:60]!r} in {target.noun}", node, fix)
        return ANY

    def _call(self, node: Call) -> Type:
        types = [self.type_of(argument) for argument in node.arguments]
        if node.key in _TEXT_ONLY:
            for argument, type_ in zip(node.arguments, types, strict=True):
                if isinstance(type_, Structure | Listing):
                    message = f"{node.name} takes text, and this is {_noun(type_)}"
                    self._report("expression-object", message, argument, "Write toJSON(…) around it.")
        return _RETURNS.get(node.key, ANY)

    def _compare(self, node: Binary) -> None:
        left, right = self.type_of(node.left), self.type_of(node.right)
        for one, other, literal in ((left, right, node.right), (right, left, node.left)):
            why = _never(one, other, literal, orders=node.operator not in ("==", "!="))
            if why is not None:
                outcome = "always true" if node.operator == "!=" else "never true"
                self._report("expression-comparison", f"{why[0]}, so this is {outcome}", node, why[1])
                return


def _never(one: Type, other: Type, literal: Node, *, orders: bool) -> tuple[str, str] | None:
    """Return why two values cannot be equal, and a fix."""
    if isinstance(one, Structure | Listing):
        plain = isinstance(other, Single)
        return (f"{_noun(one)} is not equal to a single value", "Compare a property of it.") if plain else None
    if orders or not isinstance(one, Single) or not isinstance(literal, Literal):
        return None
    value = literal.value
    if isinstance(value, str):
        if one.choices and value and value.lower() not in [choice.lower() for choice in one.choices]:
            fix = did_you_mean(value, one.choices)
            return f"this is never {value[:60]!r}", fix or f"It is one of {', '.join(one.choices[:12])}."
        if one.begins and value and not value.lower().startswith(one.begins):
            return (
                f"this always begins with {one.begins!r}",
                f"Write '{one.begins}heads/{value}', or use github.ref_name.",
            )
        if one.sort in ("flag", "number") and math.isnan(as_number(value)):
            fix = f"Write {value} without quotes." if value in ("true", "false") else ""
            return f"this is {_NOUNS[one.sort]}, and {value[:60]!r} is text", fix
    elif isinstance(value, bool) and one.sort == "text":
        word = "true" if value else "false"
        return f"this is text, and '{word}' is not {word}", f"Write '{word}' in quotes."
    return None


def _literal(node: Literal) -> Type:
    if isinstance(node.value, str):
        return TEXT
    if isinstance(node.value, bool):
        return FLAG
    return NOTHING if node.value is None else NUMBER


def _noun(type_: Type) -> str:
    return "a list" if isinstance(type_, Listing) else "an object"
