"""Commands that are known by name and imported when they are used: the one way in which the command line loads late."""

import importlib
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import click


class Entry(NamedTuple):
    """Where a command is, and its line in the help of its group."""

    module: str
    help: str
    attribute: str = ""
    """Its name within the module, where that is not its name on the command line."""


def loaded(name: str, entry: Entry) -> click.Command:
    """Import a command."""
    command: click.Command = getattr(importlib.import_module(entry.module), entry.attribute or name)
    return command


class LazyGroup(click.Group):
    """Knows its commands by name and help, and imports only the one that is used."""

    entries: ClassVar[Mapping[str, Entry]]

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        entry = self.entries.get(cmd_name)
        return None if entry is None else loaded(cmd_name, entry)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.entries.items()])
