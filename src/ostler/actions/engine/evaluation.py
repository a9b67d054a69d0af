"""Expressions and templates of a step as the values that the engine needs, each mistake with the key it stands in."""

from collections.abc import Mapping

from ostler.expr.errors import ExpressionError
from ostler.expr.evaluation import Scope, check_names, evaluate
from ostler.expr.templates import Template, bare_condition, condition
from ostler.expr.values import Value, as_number, as_text, truthy
from ostler.protocol.v1.program import Scalar


class BadTemplate(Exception):
    """A template or condition of a step cannot be evaluated; the step fails and its log says where and why."""

    code = "expression"

    def __init__(self, key: str, written: str, reason: str) -> None:
        shown = written if len(written) <= 200 else written[:200] + "…"
        super().__init__(f"`{key}: {shown}`: {reason}")


def text(key: str, raw: Scalar, scope: Scope) -> str:
    """Return a text with its templates filled in."""
    if not isinstance(raw, str):
        return as_text(raw)
    if "${{" not in raw:
        return raw
    try:
        return Template.parse(raw).text(scope)
    except ExpressionError as error:
        raise BadTemplate(key, raw, error.message) from error


def value(key: str, raw: Scalar, scope: Scope) -> Value:
    """Return what a template stands for; a sole expression keeps its type."""
    if not isinstance(raw, str) or "${{" not in raw:
        return raw
    try:
        return Template.parse(raw).value(scope)
    except ExpressionError as error:
        raise BadTemplate(key, raw, error.message) from error


def holds(raw: str, scope: Scope, *, as_it_is: bool = False) -> bool:
    """Return whether a condition holds; only as it is does it not ask that all went well before."""
    try:
        node = bare_condition(raw) if as_it_is else condition(raw)
        check_names(node, scope.contexts, scope.functions)
        return truthy(evaluate(node, scope))
    except ExpressionError as error:
        raise BadTemplate("if", raw, error.message) from error


def flag(key: str, raw: bool | str, scope: Scope) -> bool:  # noqa: FBT001 - a value of the file, not a switch
    """Return what must be true or false."""
    found = value(key, raw, scope)
    if isinstance(found, bool):
        return found
    if as_text(found).lower() in ("", "false"):
        return False
    if as_text(found).lower() == "true":
        return True
    raise BadTemplate(key, str(raw), f"`{as_text(found)}` is neither true nor false")


def number(key: str, raw: float | str | None, scope: Scope) -> float:
    """Return what must be a number; 0 where nothing is said."""
    found = as_number(value(key, raw, scope))
    if found != found or found in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN is the only value unlike itself
        raise BadTemplate(key, str(raw), "it is no number")
    return found


def variables(key: str, raw: Mapping[str, Scalar] | str, scope: Scope) -> dict[str, str]:
    """Return names and values, written one by one or by one template that yields them all."""
    if isinstance(raw, str):
        found = value(key, raw, scope)
        if found is None or found == "":
            return {}
        if not isinstance(found, Mapping):
            raise BadTemplate(key, raw, "it does not yield names and values")
        return {name: as_text(one) for name, one in found.items()}
    return {name: text(f"{key}.{name}", one, scope) for name, one in raw.items()}
