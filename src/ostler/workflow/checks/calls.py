"""Calls of reusable workflows of the same repository: they get what they declare, and none comes back to itself."""

from collections.abc import Iterator
from typing import Final

from ostler.expr.spelling import did_you_mean
from ostler.workflow import plain
from ostler.workflow.checks.nearby import local_path, local_workflow
from ostler.workflow.checks.sheet import Files, JobPart, Sheet, single, singles
from ostler.workflow.findings import Finding, Severity
from ostler.workflow.nodes import Entry, MappingNode, Node, ScalarNode

DEEPEST: Final = 10
"""Workflows that call each other, the first one counted."""
_EVENT: Final = "workflow_call"
_MOST_LOOKED_AT: Final = 200


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check every call as far as the called file is at hand."""
    if sheet.files is None:
        return
    for job in sheet.jobs:
        uses = single(job.node.get("uses"))
        path = "" if uses is None else local_path(uses.text)
        if uses is None or not path:
            continue
        if sheet.files.read(path) is None:
            severity: Severity = "error" if sheet.files.complete else "hint"
            message = f"there is no file {path!r} in this repository"
            yield Finding("call-missing", message, uses.span, "Correct the path, or add the file.", severity)
            continue
        called = local_workflow(sheet.files, path)
        if called is None:
            continue
        on = called.get("on")
        if not _is_callable(on):
            message = f"{path} cannot be called: it has no `{_EVENT}` below `on`"
            yield Finding("call-event", message, uses.span, f"Add `{_EVENT}:` to it.")
            continue
        declared = plain.get(on, _EVENT)
        yield from _inputs(job, uses, declared)
        yield from _secrets(job, uses, declared)
        yield from _chain(sheet.files, uses, (sheet.path, path))


def outputs(files: Files, path: str) -> tuple[str, ...] | None:
    """Return the names of what a called workflow gives; None if it is not at hand."""
    called = local_workflow(files, path)
    if called is None:
        return None
    return tuple(entry.key.text for entry in plain.entries(plain.get(plain.get(called.get("on"), _EVENT), "outputs")))


def _is_callable(on: Node | None) -> bool:
    if isinstance(on, MappingNode):
        return on.get(_EVENT) is not None
    return _EVENT in [each.text for each in singles(on)]


def _inputs(job: JobPart, uses: ScalarNode, declared: Node | None) -> Iterator[Finding]:
    inputs = {entry.key.text.lower(): entry for entry in plain.entries(plain.get(declared, "inputs"))}
    given = plain.entries(job.node.get("with"))
    if any("${{" in entry.key.text for entry in given):
        return
    for entry in given:
        known = inputs.get(entry.key.text.lower())
        if known is None:
            fix = did_you_mean(entry.key.text, [each.key.text for each in inputs.values()])
            message = f"the called workflow has no input {entry.key.text[:60]!r}"
            yield Finding("call-input", message, entry.key.span, fix)
        else:
            yield from _type(entry, known)
    names = {entry.key.text.lower() for entry in given}
    for name, known in inputs.items():
        if name not in names and plain.get_flag(known.value, "required"):
            message = f"the called workflow needs the input {known.key.text!r}"
            yield Finding("call-input", message, uses.span, f"Add `{known.key.text}:` below `with`.")


def _type(given: Entry, known: Entry) -> Iterator[Finding]:
    if not isinstance(given.value, ScalarNode) or plain.is_template(given.value):
        return
    kind, value = plain.text(plain.get(known.value, "type")), given.value.value
    if (kind == "boolean" and not isinstance(value, bool)) or (kind == "number" and not isinstance(value, float)):
        message = f"the input {given.key.text!r} is a {kind}"
        yield Finding("call-input", message, given.value.span, "Write it without quotes.")


def _secrets(job: JobPart, uses: ScalarNode, declared: Node | None) -> Iterator[Finding]:
    given = job.node.get("secrets")
    if isinstance(given, ScalarNode):
        return
    secrets = {entry.key.text.lower(): entry for entry in plain.entries(plain.get(declared, "secrets"))}
    entries = plain.entries(given)
    for entry in entries:
        if entry.key.text.lower() not in secrets and "${{" not in entry.key.text:
            fix = did_you_mean(entry.key.text, [each.key.text for each in secrets.values()])
            message = f"the called workflow declares no secret {entry.key.text[:60]!r}"
            yield Finding("call-secret", message, entry.key.span, fix)
    names = {entry.key.text.lower() for entry in entries}
    for name, known in secrets.items():
        if name not in names and plain.get_flag(known.value, "required"):
            message = f"the called workflow needs the secret {known.key.text!r}"
            yield Finding("call-secret", message, uses.span, "Add it below `secrets`, or write `secrets: inherit`.")


def _chain(files: Files, uses: ScalarNode, start: tuple[str, ...]) -> Iterator[Finding]:
    """Follow the calls of a called workflow until they end, come back to this file, or go too deep."""
    trails = [start]
    for _ in range(_MOST_LOOKED_AT):
        if not trails:
            return
        trail = trails.pop()
        if trail[-1] in trail[:-1]:
            shown = " -> ".join(trail[trail.index(trail[-1]) :])
            yield Finding("call-cycle", f"these workflows call each other: {shown}", uses.span)
            return
        if len(trail) > DEEPEST:
            message = f"workflows may call each other {DEEPEST} deep, and this goes on to {trail[-1]}"
            yield Finding("call-depth", message, uses.span)
            return
        root = local_workflow(files, trail[-1])
        for entry in plain.entries(root.get("jobs") if root is not None else None):
            below = local_path(plain.text(plain.get(entry.value, "uses")))
            if below:
                trails.append((*trail, below))
