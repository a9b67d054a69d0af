"""``ostler run``: the runs of a server, each verb loaded when it is used."""

import click

from ostler.cli.lazy import Entry, LazyGroup


class RunGroup(LazyGroup):
    """The verbs."""

    entries = {  # noqa: RUF012 - a mapping that nobody changes
        "list": Entry("ostler.cli.runs", "List runs, newest first.", "list_"),
        "view": Entry("ostler.cli.runs", "Show a run with its jobs and steps."),
        "watch": Entry("ostler.cli.runs", "Stay with a run until it ends; exit as its job did."),
        "cancel": Entry("ostler.cli.runs", "Cancel a run. A second cancel changes nothing."),
        "logs": Entry("ostler.cli.runs", "Print the log of a run."),
    }


@click.group(cls=RunGroup)
def run() -> None:
    """List, view, watch and cancel runs, and read their logs."""
