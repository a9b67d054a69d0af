"""``env``: names that a process can have, and none of those that the runner sets itself."""

from collections.abc import Iterator
from typing import Final

from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet
from ostler.workflow.findings import Finding
from ostler.workflow.language.variables import DEFAULT_VARIABLES
from ostler.workflow.nodes import MappingNode, Node

_OVERWRITABLE: Final = ("CI",)


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check the names of all variables."""
    yield from _env(sheet.root.get("env"))
    for job in sheet.jobs:
        yield from _env(job.node.get("env"))
        container = job.node.get("container")
        for node in (container, *(entry.value for entry in plain.entries(job.node.get("services")))):
            yield from _env(node.get("env") if isinstance(node, MappingNode) else None)
    for step in sheet.steps:
        yield from _env(step.node.get("env"))


def _env(node: Node | None) -> Iterator[Finding]:
    for entry in plain.entries(node):
        name = entry.key.text
        if "${{" in name or not name:
            continue
        if "=" in name or "\0" in name:
            yield Finding("env-name", f"no variable can be called {name[:60]!r}", entry.key.span, "Leave '=' out.")
        elif any(character.isspace() for character in name):
            message = f"no shell can read a variable called {name[:60]!r}"
            yield Finding("env-name", message, entry.key.span, "Write '_' for blanks.", "warning")
        elif name in DEFAULT_VARIABLES and name not in _OVERWRITABLE:
            message = f"{name} is set by the runner, so this value is not seen"
            yield Finding("env-reserved", message, entry.key.span, "Choose another name.", "hint")
