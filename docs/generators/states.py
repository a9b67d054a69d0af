"""The page of state machines: every table of ``ostler.domain``, and that of the jobs of workflows, as a diagram."""

import importlib
import pkgutil
from collections.abc import Iterator
from enum import StrEnum
from inspect import cleandoc

from ostler import domain
from ostler.domain.machine import Machine

AnyMachine = Machine[StrEnum, StrEnum]


def machines() -> Iterator[tuple[str, AnyMachine]]:
    """Every machine with the docstring of its module, in the order of the modules' names."""
    names = [f"ostler.domain.{found.name}" for found in pkgutil.iter_modules(domain.__path__)]
    for name in (*names, "ostler.workflow.run.state"):
        module = importlib.import_module(name)
        for value in vars(module).values():
            if isinstance(value, Machine):
                yield cleandoc(module.__doc__ or ""), value


def _diagram(machine: AnyMachine) -> list[str]:
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {machine.initial.value}"]
    for (state, event), following in machine.table.items():
        lines.append(f"    {state.value} --> {following.value}: {event.value}")
    lines += [f"    {state.value} --> [*]" for state in sorted(machine.terminal)]
    return [*lines, "```"]


def page() -> str:
    """The whole page."""
    lines = [
        "# States",
        "",
        "What is not drawn here cannot happen: the program looks every transition up in the table that the diagram is",
        "made from, and refuses one that is missing with a code (see [error codes](errors.md)).",
    ]
    for docstring, machine in machines():
        lines += ["", f"## {machine.noun.capitalize()}", "", docstring, "", *_diagram(machine)]
    return "\n".join(lines) + "\n"
