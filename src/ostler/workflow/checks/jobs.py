"""Jobs that do something: each has steps or calls a workflow."""

import re
from collections.abc import Iterator
from typing import Final

from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet, literal
from ostler.workflow.findings import Finding
from ostler.workflow.nodes import SequenceNode

_VERSION: Final = re.compile(r"\d+\.\*")


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check that no job is empty, and what makes an image of its runner."""
    for job in sheet.jobs:
        steps = job.node.get("steps")
        if job.node.get("uses") is None and (steps is None or (isinstance(steps, SequenceNode) and not steps.items)):
            message = f"the job {job.key.text!r} has no steps and calls no workflow"
            yield Finding("job-empty", message, job.key.span, "Add `steps:` with at least one `run` or `uses`.")
        version = plain.get(job.node.get("snapshot"), "version")
        if version is not None and literal(version) and not _VERSION.fullmatch(literal(version)):
            yield Finding("snapshot-version", "the version of an image has the form `1.*`", version.span)
