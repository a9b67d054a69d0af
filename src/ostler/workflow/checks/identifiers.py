"""Ids of jobs and steps: their form, and that no id stands twice."""

import re
from collections.abc import Iterator
from typing import Final

from ostler.workflow.checks.sheet import Sheet, StepPart
from ostler.workflow.findings import Finding
from ostler.workflow.nodes import ScalarNode

LONGEST: Final = 99
_FORM: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
_RULE: Final = "Begin with a letter or '_' and go on with letters, digits, '-' and '_'."


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check all ids. Keys of jobs that differ by case only are found by the first pass."""
    for job in sheet.jobs:
        yield from _form(job.key, "job")
        yield from _steps(job.steps)
    if sheet.kind == "action":
        yield from _steps(sheet.steps)


def _steps(steps: tuple[StepPart, ...]) -> Iterator[Finding]:
    first: dict[str, ScalarNode] = {}
    for step in steps:
        id_ = step.id
        if id_ is None or not id_.text or "${{" in id_.text:
            continue
        yield from _form(id_, "step")
        before = first.setdefault(id_.text.lower(), id_)
        if before is not id_:
            message = f"the id {id_.text!r} is taken by the step on line {before.span.line}"
            case = " Case makes no difference." if before.text != id_.text else ""
            yield Finding("id-duplicate", message, id_.span, f"Choose another id.{case}")


def _form(id_: ScalarNode, noun: str) -> Iterator[Finding]:
    if "${{" in id_.text:
        return
    if not _FORM.fullmatch(id_.text):
        yield Finding("id-syntax", f"{id_.text[:60]!r} cannot be the id of a {noun}", id_.span, _RULE)
    elif id_.text.startswith("__"):
        yield Finding("id-syntax", f"the id {id_.text[:60]!r} begins with '__', which is reserved", id_.span)
    elif len(id_.text) > LONGEST:
        message = f"the id has {len(id_.text)} characters, at most {LONGEST} are allowed"
        yield Finding("id-syntax", message, id_.span)
