"""``shell``: a known one, or a command with ``{0}``, that exists on the system of the job."""

from collections.abc import Iterator
from typing import Final

from ostler.expr.spelling import did_you_mean
from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet, literal, singles
from ostler.workflow.findings import Finding
from ostler.workflow.nodes import MappingNode, Node

SHELLS: Final = ("bash", "sh", "pwsh", "python", "node", "powershell", "cmd")
_WINDOWS_ONLY: Final = ("powershell", "cmd")
_OTHER_SYSTEMS: Final = ("ubuntu", "macos", "linux")


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check the shells of the workflow, of its jobs and of their steps."""
    yield from _shell(_default(sheet.root), unix=False)
    for job in sheet.jobs:
        unix = _is_unix(job.node)
        yield from _shell(_default(job.node), unix=unix)
        for step in job.steps:
            yield from _shell(step.node.get("shell"), unix=unix)
    if sheet.kind == "action":
        for step in sheet.steps:
            yield from _shell(step.node.get("shell"), unix=False)


def _default(node: MappingNode) -> Node | None:
    return plain.get(plain.get(node.get("defaults"), "run"), "shell")


def _is_unix(job: MappingNode) -> bool:
    runs_on = job.get("runs-on")
    labels = [label.text.lower() for label in singles(runs_on if runs_on is None else _labels(runs_on))]
    return any(label.startswith(_OTHER_SYSTEMS) for label in labels) and not any("windows" in each for each in labels)


def _labels(node: Node) -> Node | None:
    return node.get("labels") if isinstance(node, MappingNode) else node


def _shell(node: Node | None, *, unix: bool) -> Iterator[Finding]:
    shell = literal(node)
    if node is None or not shell:
        return
    if shell.lower() in _WINDOWS_ONLY:
        if unix:
            message = f"the shell {shell!r} exists on Windows only, and this job asks for another system"
            yield Finding("shell-system", message, node.span, "Take 'bash' or 'pwsh'.", "warning")
    elif shell.lower() not in SHELLS and "{0}" not in shell:
        fix = did_you_mean(shell, SHELLS) or f"Take one of {', '.join(SHELLS)}, or write {{0}} for the script's file."
        yield Finding("shell-unknown", f"there is no shell {shell[:60]!r}", node.span, fix)
