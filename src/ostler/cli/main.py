"""The entry point: the list of commands, loaded lazily, and the one place where errors become exit codes."""

import os
import sys

import click

from ostler import __version__
from ostler.cli import streams
from ostler.cli.errors import INTERRUPTED, exit_code, explain
from ostler.cli.lazy import Entry, LazyGroup


class _OutputClosed(Exception):
    """Whoever read the output wants no more of it."""


COMMANDS: dict[str, Entry] = {
    "up": Entry("ostler.cli.up", "Start everything on this machine: server, pages and runners."),
    "validate": Entry("ostler.cli.validate", "Check workflows and actions."),
    "server": Entry("ostler.cli.server", "Run a control plane replica."),
    "agent": Entry("ostler.cli.agent", "Configure, run and diagnose a runner."),
    "job": Entry("ostler.cli.job", "Submit and inspect jobs."),
    "run": Entry("ostler.cli.run", "Run a workflow on this machine, or see the runs of a server."),
    "artifact": Entry("ostler.cli.artifact", "List, download and delete what runs have left."),
    "cache": Entry("ostler.cli.cache", "List, delete and prune the caches of repositories."),
    "repro": Entry("ostler.cli.repro", "Run a job of a workflow again on this machine, as a runner ran it."),
    "queue": Entry("ostler.cli.queue", "See what waits and why."),
    "pool": Entry("ostler.cli.pool", "Manage pools."),
    "runner": Entry("ostler.cli.runner", "List, view, pause and drain runners."),
    "repository": Entry("ostler.cli.repository", "Connect the repositories whose workflows this server runs."),
    "workflow": Entry("ostler.cli.workflow", "List the workflows of a repository and run them."),
    "action": Entry("ostler.cli.action", "See, lock and import the actions that workflows use."),
    "secret": Entry("ostler.cli.secret", "Manage the secrets of a repository."),
    "variable": Entry("ostler.cli.variable", "Manage the variables of a repository."),
    "token": Entry("ostler.cli.token", "Create and revoke tokens."),
    "login": Entry("ostler.cli.login", "Sign this machine in to a server."),
    "eval": Entry("ostler.cli.eval", "Evaluate an expression of a workflow."),
    "doctor": Entry("ostler.cli.doctor", "Check the connection to the server and the server itself."),
}


class _Commands(LazyGroup):
    """All commands."""

    entries = COMMANDS

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; whoever stops reading its output is content, which click would call a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _OutputClosed from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
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
