"""``ostler run [FILE|DIR]``: what is typed, made into a request and carried out."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypedDict, Unpack

import click

from ostler.agent.local_supervisors import LocalSupervisors
from ostler.agent.supervisor_start import WORKFLOW
from ostler.cli import output
from ostler.cli.env_files import read_pairs
from ostler.cli.errors import FAILED, INTERRUPTED, CommandFailed, explain
from ostler.cli.local_run.early import KEY, Early, cache_folder, new_attempts
from ostler.cli.local_run.listing import print_dry_run, print_list
from ostler.cli.local_run.request import Isolation, Request
from ostler.cli.local_run.session import Session, Surroundings
from ostler.cli.local_run.style import Style, coloured
from ostler.cli.local_run.tree_view import TreeView
from ostler.cli.local_run.views import JsonView, PlainView, View
from ostler.cli.local_run.watching import state_of, until_changed
from ostler.cli.options import pairs
from ostler.effects import system_effects


class Asked(TypedDict):
    """What was typed, option by option."""

    path: Path | None
    event: str
    event_path: Path | None
    ref: str
    jobs: tuple[str, ...]
    inputs: tuple[str, ...]
    variables: tuple[str, ...]
    secret_texts: tuple[str, ...]
    env: tuple[str, ...]
    var_file: tuple[Path, ...]
    secret_file: tuple[Path, ...]
    env_file: tuple[Path, ...]
    matrix: tuple[str, ...]
    isolation: Isolation
    parallel: int | None
    mirrors: tuple[str, ...]
    strict_labels: bool
    debug: bool


_FILE: Final = click.Path(dir_okay=False, path_type=Path)


@click.command("here")
@click.argument("path", required=False, type=click.Path(path_type=Path), metavar="[FILE|DIR]")
@click.option("--event", default="", metavar="NAME", help="The event that starts it; push without it.")
@click.option("--event-path", type=_FILE, help="A file with the event's payload as JSON.")
@click.option("--ref", default="", help="The branch, or the whole reference, that the event is about.")
@click.option("--job", "jobs", multiple=True, metavar="ID", help="Only this job and what it needs.")
@click.option(
    "--input", "inputs", multiple=True, metavar="K=V", help="An input; it is then started by workflow_dispatch."
)
@click.option("--var", "variables", multiple=True, metavar="K=V", help="A value of the context `vars`.")
@click.option(
    "--secret", "secret_texts", multiple=True, metavar="K[=V]", help="A secret; from the environment, or asked."
)
@click.option("--env", "env", multiple=True, metavar="K[=V]", help="A variable for all steps.")
@click.option("--var-file", type=_FILE, multiple=True, help="A file of lines K=V, for --var.")
@click.option("--secret-file", type=_FILE, multiple=True, help="A file of lines K=V, for --secret.")
@click.option("--env-file", type=_FILE, multiple=True, help="A file of lines K=V, for --env.")
@click.option("--matrix", multiple=True, metavar="K=V", help="Only cells of matrices with this value.")
@click.option("--isolation", type=click.Choice(("process", "sandbox", "docker")), default="process", show_default=True)
@click.option(
    "--parallel", type=click.IntRange(1, 256), default=None, help="Jobs at a time; one a processor without it."
)
@click.option("--mirror", "mirrors", multiple=True, help="A folder or URL template that has published actions.")
@click.option("--strict-labels", is_flag=True, help="Fail jobs that ask for another operating system.")
@click.option("--debug", is_flag=True, help="Show debug messages of steps and actions.")
@click.option("--list", "list_only", is_flag=True, help="Only list the jobs.")
@click.option("--dry-run", is_flag=True, help="Only show what would run.")
@click.option("--watch", is_flag=True, help="Run again whenever a file changes.")
@click.option("--plain", is_flag=True, help="Print line by line, also at a terminal.")
@click.option("--quiet", is_flag=True, help="Print only what failed and the end.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each thing that happens.")
@click.pass_context
def here(
    context: click.Context,
    *,
    list_only: bool,
    dry_run: bool,
    watch: bool,
    plain: bool,
    quiet: bool,
    as_json: bool,
    **asked: Unpack[Asked],
) -> int:
    """Run a workflow on this machine."""
    request = request_of(asked, Path.cwd(), os.environ)
    view = _view(as_json=as_json, plain=plain, quiet=quiet)
    around = Surroundings(system_effects(), os.environ, view, _say)
    if list_only or dry_run:
        session = Session(request, around)
        plans = [(chosen, session.plan(chosen, session.new_id())) for chosen in session.choose()]
        (print_list if list_only else print_dry_run)(plans, as_json=as_json)
        return 0
    begun: Early | None = context.meta.get(KEY)
    attempts = begun.attempts if begun else new_attempts(cache_folder(os.environ))
    try:
        return asyncio.run(_supervised(request, around, attempts, begun, watch=watch))
    finally:
        shutil.rmtree(attempts, ignore_errors=True)


async def _supervised(
    request: Request, around: Surroundings, attempts: Path, begun: Early | None, *, watch: bool
) -> int:
    supervisors = LocalSupervisors(attempts, kind=WORKFLOW, started=begun.started if begun else None)
    supervisors.warm_up()
    try:
        if watch:
            return await _watched(request, around, supervisors)
        return await carried_out(Session(request, around), supervisors)
    finally:
        await supervisors.close()


async def carried_out(session: Session, supervisors: LocalSupervisors) -> int:
    """Run a session to its end and return the exit code; Ctrl-C cancels it, and kills what is left the second time."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, session.interrupt)
    try:
        return await session.run(supervisors)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def _watched(request: Request, around: Surroundings, supervisors: LocalSupervisors) -> int:
    """Run again and again, until interrupted while nothing runs."""
    while True:
        try:
            session = Session(request, around)
            root, before = session.root, state_of(session.root)
            code = await carried_out(session, supervisors)
        except CommandFailed as error:
            _say(explain(error) or str(error))
            root, code = request.directory, FAILED
            before = state_of(root)
        if code == INTERRUPTED:
            return code
        output.say("watching for changes; interrupt to stop")
        changed = await until_changed(root, before)
        output.say(f"{changed} changed")


def request_of(asked: Asked, directory: Path, environment: Mapping[str, str]) -> Request:
    """Return the request that parsed options stand for."""
    return Request(
        directory=directory,
        path=directory / asked["path"] if asked["path"] else None,
        event=asked["event"],
        event_path=directory / asked["event_path"] if asked["event_path"] else None,
        ref=asked["ref"],
        jobs=asked["jobs"],
        inputs=_named(asked["inputs"], "--input"),
        variables=_from_files(asked["var_file"], "--var-file", directory) | _named(asked["variables"], "--var"),
        secrets=_from_files(asked["secret_file"], "--secret-file", directory)
        | _secrets(asked["secret_texts"], environment),
        env=_from_files(asked["env_file"], "--env-file", directory) | _variables(asked["env"], environment),
        matrix=_cells(asked["matrix"]),
        isolation=asked["isolation"],
        parallel=asked["parallel"] or 0,
        strict_labels=asked["strict_labels"],
        debug=asked["debug"],
        mirrors=asked["mirrors"] or tuple(environment.get("OSTLER_ACTION_MIRRORS", "").split()),
    )


def _named(texts: Sequence[str], option: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{option} {text!r}: write NAME=VALUE")
        values[name] = value
    return values


def _secrets(texts: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name:
            raise click.UsageError("--secret: write NAME or NAME=VALUE")
        if equals:
            values[name] = value
        elif name in environment:
            values[name] = environment[name]
        elif sys.stdin.isatty():
            values[name] = click.prompt(name, hide_input=True, err=True)
        else:
            raise click.UsageError(
                f"--secret {name}: the environment has no {name}; set it, or write it to --secret-file"
            )
    return values


def _variables(texts: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    named = [text if "=" in text else f"{text}={environment.get(text, '')}" for text in texts]
    return pairs(named, "--env")


def _cells(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    cells: dict[str, tuple[str, ...]] = {}
    for text in texts:
        for name, value in _named([text], "--matrix").items():
            cells[name] = (*cells.get(name, ()), value)
    return cells


def _from_files(paths: Sequence[Path], option: str, directory: Path) -> dict[str, str]:
    return {name: value for path in paths for name, value in read_pairs(directory / path, option).items()}


def _view(*, as_json: bool, plain: bool, quiet: bool) -> View:
    if as_json:
        return JsonView(_write)
    terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    style = Style(coloured=coloured(os.environ, terminal=terminal))
    if terminal and not plain and not quiet:
        return TreeView(_write, style, shutil.get_terminal_size)
    return PlainView(_write, style, quiet=quiet)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
