"""``ostler run``: a workflow on this machine, unless the first word is a verb about the runs of a server."""

import os

import click

from ostler.cli.lazy import Entry, LazyGroup, loaded
from ostler.cli.local_run import early

_VERBS = {
    "list": Entry("ostler.cli.runs", "List the server's runs, newest first.", "list_"),
    "view": Entry("ostler.cli.runs", "Show a run with its jobs and steps."),
    "watch": Entry("ostler.cli.runs", "Stay with a run until it ends; exit as its job did."),
    "cancel": Entry("ostler.cli.runs", "Cancel a run."),
    "logs": Entry("ostler.cli.runs", "Print the log of a run."),
    "rerun": Entry("ostler.cli.workflow_runs", "Run a workflow's run again: all of it, what failed, or from a job on."),
    "approve": Entry("ostler.cli.workflow_runs", "Let the run of a fork's pull request begin."),
}
_LOCAL = "here"


class RunGroup(LazyGroup):
    """The verbs; every other first word, and none, belongs to the run on this machine."""

    entries = _VERBS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self.local() if cmd_name == _LOCAL else super().get_command(ctx, cmd_name)

    def local(self) -> click.Command:
        """Return the command that runs a workflow on this machine."""
        return loaded(_LOCAL, Entry("ostler.cli.local_run.command", ""))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and (args[0] in self.entries or args[0] in ctx.help_option_names):
            return super().parse_args(ctx, args)
        ctx.meta[early.KEY] = early.begin(args, os.environ)
        return super().parse_args(ctx, [_LOCAL, *args])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        _, command, rest = super().resolve_command(ctx, args)
        # A mistake is told as one of `ostler run`: nobody typed the name by which the command is known here.
        return None if command is not None and command.name == _LOCAL else args[0], command, rest

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] [FILE|DIR]")
        formatter.write_usage(ctx.command_path, f"{'|'.join(self.entries)} …", "       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.local().format_options(ctx, formatter)
        with formatter.section("Runs of a server"):
            formatter.write_dl([(name, entry.help) for name, entry in self.entries.items()])


@click.group(cls=RunGroup)
def run() -> None:
    """Run a workflow on this machine, or list, view, watch and cancel the runs of a server.

    Without a file, the workflows of the repository that the event starts are run: those in `.ostler/workflows` and
    `.github/workflows`. The event is a push of the commit that is checked out, unless --event names another one.
    Files are taken as they lie there, committed or not. A file that is named like a verb is written `./list`.
    """
