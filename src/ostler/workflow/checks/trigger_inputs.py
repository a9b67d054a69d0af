"""Inputs, secrets and outputs of ``workflow_dispatch`` and ``workflow_call``: defaults and options fit their types."""

from collections.abc import Iterator
from typing import Final

from ostler.expr.spelling import did_you_mean
from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet, literal
from ostler.workflow.findings import Finding
from ostler.workflow.nodes import Entry, Node, ScalarNode, SequenceNode
from ostler.workflow.scalars import resolved

MOST_AT_GITHUB: Final = 25
"""Inputs that a form of GitHub can have."""
_RESERVED: Final = "github_token"


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check what the two events declare."""
    on = sheet.root.get("on")
    dispatch = plain.entries(plain.get(plain.get(on, "workflow_dispatch"), "inputs"))
    call = plain.get(on, "workflow_call")
    for entry in (*dispatch, *plain.entries(plain.get(call, "inputs"))):
        yield from _options(entry)
        yield from _default(entry)
        yield from _required(entry)
    if len(dispatch) > MOST_AT_GITHUB:
        message = f"these are {len(dispatch)} inputs, and GitHub allows {MOST_AT_GITHUB}"
        yield Finding("input-count", message, dispatch[MOST_AT_GITHUB].key.span, "Ostler has no such limit.", "hint")
    for entry in plain.entries(plain.get(call, "secrets")):
        if entry.key.text.lower() == _RESERVED:
            message = "GITHUB_TOKEN is given to every job, so no secret can have its name"
            yield Finding("secret-name", message, entry.key.span, "Choose another name.")


def _options(entry: Entry) -> Iterator[Finding]:
    options = plain.get(entry.value, "options")
    if _type(entry) == "choice":
        if options is None or (isinstance(options, SequenceNode) and not options.items):
            message = f"the input {entry.key.text!r} is a choice without options"
            yield Finding("input-options", message, entry.key.span, "Add `options:` with a list.")
    elif options is not None:
        message = f"the input {entry.key.text!r} has options and is no choice"
        yield Finding("input-options", message, options.span, "Add `type: choice`.")


def _default(entry: Entry) -> Iterator[Finding]:
    default = plain.get(entry.value, "default")
    if not isinstance(default, ScalarNode) or default.value is None or plain.is_template(default):
        return
    kind = _type(entry)
    if kind == "boolean" and not isinstance(default.value, bool):
        fix = "Write true or false, without quotes."
        yield Finding("input-default", f"{default.text[:40]!r} is neither true nor false", default.span, fix)
    elif kind == "number" and not isinstance(default.value, float) and not _is_number(default.text):
        yield Finding("input-default", f"{default.text[:40]!r} is not a number", default.span, "Write a number.")
    elif kind == "choice":
        options = plain.texts(plain.get(entry.value, "options"))
        if options and plain.text(default) not in options:
            fix = did_you_mean(plain.text(default), options) or f"It is one of {', '.join(options)[:200]}."
            message = f"the default {default.text[:40]!r} is not one of the options"
            yield Finding("input-default", message, default.span, fix)


def _is_number(text: str) -> bool:
    return isinstance(resolved(text.strip()), float)


def _required(entry: Entry) -> Iterator[Finding]:
    default: Node | None = plain.get(entry.value, "default")
    if plain.get_flag(entry.value, "required") and literal(default):
        message = f"the input {entry.key.text!r} must be given, so its default is only proposed"
        yield Finding("input-required-default", message, entry.key.span, "Leave out one of the two.", "hint")


def _type(entry: Entry) -> str:
    return literal(plain.get(entry.value, "type")) or "string"
