"""``concurrency``: keys that do not contradict each other, and no job that waits for its own run."""

from collections.abc import Iterator
from typing import Final

from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet, literal
from ostler.workflow.findings import Finding
from ostler.workflow.nodes import MappingNode, Node

LONGEST: Final = 400


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check the concurrency of the workflow and of its jobs."""
    own = sheet.root.get("concurrency")
    yield from _concurrency(own)
    for job in sheet.jobs:
        node = job.node.get("concurrency")
        yield from _concurrency(node)
        group = _group(node)
        if node is not None and group and group.lower() == _group(own).lower():
            message = f"the workflow holds the group {group[:60]!r} already; at GitHub the job would wait for itself"
            yield Finding("concurrency-deadlock", message, node.span, "Choose another group for the job.", "warning")


def _concurrency(node: Node | None) -> Iterator[Finding]:
    if node is None:
        return
    if len(_group(node)) > LONGEST:
        message = f"the name of a group has at most {LONGEST} characters"
        yield Finding("concurrency-group", message, node.span)
    queue = plain.get(node, "queue")
    if queue is not None and literal(queue) == "max" and plain.get_flag(node, "cancel-in-progress"):
        message = "`queue: max` lets all wait, and `cancel-in-progress: true` lets none"
        yield Finding("concurrency-queue", message, queue.span, "Leave out one of the two.")


def _group(node: Node | None) -> str:
    return literal(node.get("group") if isinstance(node, MappingNode) else node)
