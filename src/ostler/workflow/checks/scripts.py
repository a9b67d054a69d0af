"""``run``: commands in the output that were retired, and folders that lead out of the workspace."""

import re
from collections.abc import Iterator
from posixpath import normpath
from typing import Final

from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet, literal
from ostler.workflow.findings import Finding, Severity
from ostler.workflow.nodes import Node, ScalarNode
from ostler.workflow.places import span_within

_COMMAND: Final = re.compile(r"::(?P<name>set-output|save-state|set-env|add-path)(?=[ :])(?P<properties>[^:\n]*)::")
_FILES: Final = {
    "set-output": "GITHUB_OUTPUT",
    "save-state": "GITHUB_STATE",
    "set-env": "GITHUB_ENV",
    "add-path": "GITHUB_PATH",
}
_REFUSED: Final = ("set-env", "add-path")


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check scripts and working directories."""
    for step in sheet.steps:
        run = step.node.get("run")
        if isinstance(run, ScalarNode):
            yield from _commands(run, sheet.source)
        yield from _folder(step.node.get("working-directory"))
    for node in (sheet.root, *(job.node for job in sheet.jobs)):
        yield from _folder(plain.get(plain.get(node.get("defaults"), "run"), "working-directory"))


def _commands(run: ScalarNode, source: str) -> Iterator[Finding]:
    for found in _COMMAND.finditer(run.text):
        name, file = found["name"], _FILES[found["name"]]
        what = "is refused for safety" if name in _REFUSED else "is deprecated"
        fix = f'Write `echo "name=value" >> "${file}"`.' if name != "add-path" else f'Write `echo "dir" >> "${file}"`.'
        span = span_within(run, source, found.start(), found.end())
        severity: Severity = "warning"
        yield Finding("deprecated-command", f"the command ::{name} {what}", span, fix, severity)


def _folder(node: Node | None) -> Iterator[Finding]:
    folder = literal(node).replace("\\", "/")
    if node is not None and folder and normpath(folder).split("/")[0] == "..":
        message = f"{folder[:80]!r} is outside of the workspace"
        yield Finding("path-outside", message, node.span, "Stay below the folder of the checkout.", "warning")
