"""Inputs with the types that a workflow declares for them: of people who dispatch it, and of workflows that call it.

People's inputs come as text; what a workflow passes has types already, which must be right.
"""

import math
from collections.abc import Mapping
from typing import Final

from ostler.domain.machine import Refused
from ostler.expr.values import Value, as_text
from ostler.protocol.v1.program import Raw, Scalar
from ostler.workflow.model import Input, Trigger
from ostler.workflow.run.errors import Misconfigured
from ostler.workflow.run.evaluation import Contexts, Evaluator
from ostler.workflow.scalars import resolved

MOST_INPUTS: Final = 100
_EMPTY: Final[dict[str, Scalar]] = {"boolean": False, "number": 0.0}


def dispatch_inputs(trigger: Trigger, given: Mapping[str, Scalar]) -> dict[str, Raw] | Refused:
    """Return the ``inputs`` context of a dispatched run, or why these inputs are not what the workflow asks for."""
    names = {name.lower(): name for name in trigger.inputs}
    unknown = next((name for name in given if name.lower() not in names), None)
    if unknown is not None:
        known = ", ".join(trigger.inputs) or "none"
        return Refused("input_unknown", f"the workflow has no input {unknown!r}; it has {known}")
    values = {names[name.lower()]: value for name, value in given.items()}
    inputs: dict[str, Raw] = {}
    for name, declared in trigger.inputs.items():
        value = values.get(name)
        if value is None or value == "":
            if declared.required and declared.default in (None, ""):
                return Refused("input_missing", f"the input {name!r} is required")
            value = _default(declared) if value is None else value
        typed = _typed(name, declared, value)
        if isinstance(typed, Refused):
            return typed
        inputs[name] = typed
    return inputs


def event_inputs(inputs: Mapping[str, Raw]) -> dict[str, Raw]:
    """Return what ``github.event.inputs`` holds: the same as text."""
    return {name: as_text(value) if isinstance(value, bool | float | str) else "" for name, value in inputs.items()}


def call_inputs(
    declared: Mapping[str, Input],
    passed: Mapping[str, Scalar],
    evaluator: Evaluator,
    contexts: Contexts,
    outer: Contexts,
) -> dict[str, Raw]:
    """Return the ``inputs`` context of a called workflow; raise `Misconfigured` if a value has the wrong type.

    ``contexts`` are the calling job's; ``outer`` are those of defaults, which only see what came with the event.
    """
    values = {name.lower(): value for name, value in passed.items()}
    inputs: dict[str, Raw] = {}
    for name, spec in declared.items():
        place = f"with.{name}"
        if name.lower() in values:
            value = evaluator.whole(place, values[name.lower()], contexts)
        elif spec.default is not None:
            place = f"the default of the input {name}"
            value = evaluator.whole(place, spec.default, outer)
        else:
            value = _EMPTY.get(spec.type, "")
        inputs[name] = _fitting(place, spec, value)
    return inputs


def misfit(spec: Input, written: Scalar) -> str:
    """Return what is expected instead of a value that holds no expression; nothing if it fits."""
    if isinstance(written, str) and "${{" in written:
        return ""
    try:
        _fitting("", spec, written)
    except Misconfigured:
        return _EXPECTED[spec.type]
    return ""


_EXPECTED: Final = {
    "string": "text",
    "choice": "text",
    "environment": "text",
    "boolean": "true or false",
    "number": "a number",
}


def _fitting(place: str, spec: Input, value: Value) -> Scalar:
    """Return a value if it is of the type; everything single can be text."""
    if spec.type == "boolean" and isinstance(value, bool):
        return value
    if spec.type == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if spec.type not in _EMPTY and (value is None or isinstance(value, bool | int | float | str)):
        return as_text(value)
    raise Misconfigured(f"{place}: the input takes {_EXPECTED[spec.type]}")


def _default(declared: Input) -> Scalar:
    if declared.default is not None:
        return declared.default
    return _EMPTY.get(declared.type, "")


def _typed(name: str, declared: Input, value: Scalar) -> Scalar | Refused:
    if declared.type in _EMPTY:
        if value == "":
            return _EMPTY[declared.type]
        meaning = resolved(value.strip()) if isinstance(value, str) else value
        if declared.type == "boolean":
            fits = isinstance(meaning, bool)
        else:
            fits = isinstance(meaning, float) and math.isfinite(meaning)
        if not fits:
            return Refused("input_wrong", f"the input {name!r} takes {_EXPECTED[declared.type]}, not {value!r}")
        return meaning
    written = as_text(value)
    if declared.type == "choice" and written and written not in declared.options:
        options = ", ".join(declared.options)
        return Refused("input_wrong", f"the input {name!r} cannot be {written!r}; it is one of {options}")
    return written
