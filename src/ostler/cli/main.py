"""The entry point: the list of commands, loaded lazily, and the one place where errors become exit codes."""

import importlib
import os
import sys
from typing import NamedTuple

import click

from ostler import __version__
from ostler.cli import streams
from ostler.cli.errors import INTERRUPTED, exit_code, explain


class _OutputClosed(Exception):
    """Whoever read the output wants no more of it."""


class _Entry(NamedTuple):
    module: str
    help: str


COMMANDS: dict[str, _Entry] = {
    "up": _Entry("ostler.cli.up", "Start everything on this machine: server, pages and runners."),
    "server": _Entry("ostler.cli.server", "Run a control plane replica."),
    "agent": _Entry("ostler.cli.agent", "Configure, run and diagnose a runner."),
    "job": _Entry("ostler.cli.job", "Submit and inspect jobs."),
    "run": _Entry("ostler.cli.run", "List, view, watch and cancel runs, and read their logs."),
    "queue": _Entry("ostler.cli.queue", "See what waits and why."),
    "pool": _Entry("ostler.cli.pool", "Manage pools."),
    "runner": _Entry("ostler.cli.runner", "List, view, pause and drain runners."),
    "token": _Entry("ostler.cli.token", "Create and revoke tokens."),
    "login": _Entry("ostler.cli.login", "Sign this machine in to a server."),
    "doctor": _Entry("ostler.cli.doctor", "Check the connection to the server and the server itself."),
}


class _LazyGroup(click.Group):
    """Knows every command by name and help, and imports only the one that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(importlib.import_module(entry.module), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; whoever stops reading its output is content, which click would call a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _OutputClosed from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ostler")
def ostler() -> None:
    """Ostler runs CI jobs and infrastructure operations on machines that you own.

    Start with `ostler up`, then `ostler job submit -- echo hello` in another shell.
    """


def main() -> None:
    """Run the command line and leave with the exit code that its outcome deserves."""
    debug = os.environ.get("OSTLER_DEBUG", "") not in ("", "0")
    try:
        streams.prepare()
        outcome = ostler.main(prog_name="ostler", standalone_mode=False)
        streams.finish()
    except click.exceptions.Abort:
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except (_OutputClosed, BrokenPipeError):
        streams.abandon()
        sys.exit(0)
    except Exception as error:
        if debug:
            raise
        text = explain(error)
        if text is None:
            raise
        sys.stderr.write(text)
        sys.exit(exit_code(error))
    sys.exit(outcome if isinstance(outcome, int) else 0)
