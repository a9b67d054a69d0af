"""Numbers that make sense: timeouts above nothing, at least one job in parallel."""

from collections.abc import Iterator
from typing import Final

from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet
from ostler.workflow.findings import Finding
from ostler.workflow.nodes import Node, ScalarNode

_TIMEOUTS: Final = ("timeout-minutes", "cancel-timeout-minutes")


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check the numbers of jobs and steps."""
    for job in sheet.jobs:
        for key in _TIMEOUTS:
            yield from _timeout(key, job.node.get(key))
        most = plain.get(job.node.get("strategy"), "max-parallel")
        if isinstance(most, ScalarNode) and isinstance(most.value, float) and not most.value >= 1:
            yield Finding("number-range", "'max-parallel' must be at least 1", most.span, severity="warning")
    for step in sheet.steps:
        yield from _timeout("timeout-minutes", step.node.get("timeout-minutes"))


def _timeout(key: str, node: Node | None) -> Iterator[Finding]:
    if not isinstance(node, ScalarNode) or not isinstance(node.value, float):
        return
    if not node.value > 0:
        message = f"{key!r} must be above 0"
        yield Finding("number-range", message, node.span, "Leave it out for the default.", "warning")
    elif not node.value.is_integer():
        message = f"GitHub takes whole minutes for {key!r}; Ostler takes fractions too"
        yield Finding("number-fraction", message, node.span, severity="hint")
