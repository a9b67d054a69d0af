"""Evaluating what a workflow says, with each expression parsed once, and each value held to the type of its place.

The language is strict there: where a number is asked for, the text ``'5'`` is none. What does not fit, and every
expression that fails, is `Misconfigured`, with the place in front.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, cast

from ostler.expr.errors import ExpressionError
from ostler.expr.evaluation import Scope, evaluate
from ostler.expr.nodes import Node
from ostler.expr.templates import Template, condition, resolve
from ostler.expr.values import Value, as_text, truthy
from ostler.workflow.run.errors import Misconfigured

Contexts: TypeAlias = Mapping[str, Value]


class Status(NamedTuple):
    """What the status functions of a condition answer."""

    success: bool
    failure: bool
    cancelled: bool

    def functions(self) -> dict[str, Callable[[Sequence[Value]], Value]]:
        """Return them as the language calls them."""
        return {
            "always": lambda _: True,
            "success": lambda _: self.success,
            "failure": lambda _: self.failure,
            "cancelled": lambda _: self.cancelled,
        }


class Evaluator:
    """Evaluates; remembers what it has parsed."""

    def __init__(self) -> None:
        self._templates: dict[str, Template] = {}
        self._conditions: dict[str, Node] = {}

    def value(self, place: str, text: str, contexts: Contexts) -> Value:
        """Return what a template yields, of whatever type."""
        try:
            template = self._templates.get(text)
            if template is None:
                template = self._templates[text] = Template.parse(text)
            return text if template.is_plain else storable(template.value(Scope(contexts)))
        except ExpressionError as error:
            raise Misconfigured(f"{place}: {error.message}") from error

    def text(self, place: str, text: str, contexts: Contexts) -> str:
        """Return a single value as text."""
        value = self.value(place, text, contexts)
        if isinstance(value, list | Mapping):
            raise Misconfigured(f"{place}: {_kind(value)} stands where text is expected")
        return as_text(value)

    def flag(self, place: str, written: "bool | str", contexts: Contexts) -> bool:
        """Return true or false."""
        value = self.value(place, written, contexts) if isinstance(written, str) else written
        if not isinstance(value, bool):
            raise Misconfigured(f"{place}: {_shown(value)} is neither true nor false")
        return value

    def number(self, place: str, written: float | str, contexts: Contexts) -> float:
        """Return a number."""
        value = self.value(place, written, contexts) if isinstance(written, str) else written
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise Misconfigured(f"{place}: {_shown(value)} is no number")
        return float(value)

    def whole(self, place: str, raw: object, contexts: Contexts) -> Value:
        """Return a value of any depth, in which every text may be a template."""
        try:
            return storable(resolve(cast("Value", raw), Scope(contexts)))
        except ExpressionError as error:
            raise Misconfigured(f"{place}: {error.message}") from error

    def holds(self, place: str, written: str, contexts: Contexts, status: Status) -> bool:
        """Return whether a condition is met."""
        try:
            node = self._conditions.get(written)
            if node is None:
                node = self._conditions[written] = condition(written)
            return truthy(evaluate(node, Scope(contexts, status.functions())))
        except ExpressionError as error:
            raise Misconfigured(f"{place}: {error.message}") from error


def storable(value: Value) -> Value:
    """Return a value that JSON can hold: halves of characters and numbers without an end can be made by expressions."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float):
        return value if math.isfinite(value) else as_text(value)
    if isinstance(value, Mapping):
        return {str(storable(key)): storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [storable(item) for item in value]
    return value


_LONGEST_SHOWN: Final = 60


def _shown(value: Value) -> str:
    if isinstance(value, list | Mapping):
        return _kind(value)
    return "nothing" if value is None else repr(as_text(value)[:_LONGEST_SHOWN])


def _kind(value: Value) -> str:
    return "a list" if isinstance(value, list) else "a mapping"
