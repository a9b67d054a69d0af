"""``ostler repro``: a job of a workflow once more, on this machine: the same commit, event, matrix cell and inputs.

What is printed is a script that needs nothing but git and this program; with ``--run`` the same is done at once.
Secrets stay where they are: their names are passed on, and their values are asked for or taken from the environment.
"""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import click
import msgspec

from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.errors import CommandFailed
from ostler.cli.options import json_option
from ostler.client.caller import Client
from ostler.expr.values import as_text
from ostler.protocol.v1.program import Raw
from ostler.protocol.v1.table import GET_JOB
from ostler.protocol.v1.workflow_messages import ReproReply
from ostler.protocol.v1.workflow_table import REPRO_JOB

_EVENT_FILE: Final = ".git/ostler-event.json"
"""Where the event's payload lies: in the clone, and not among its files."""
_OURSELVES: Final = (sys.executable, "-c", "from ostler.cli.main import main; main()")


class Recipe(NamedTuple):
    """What it takes: git commands, the payload of the event, and the arguments of ``ostler`` within the clone."""

    fetches: list[list[str]]
    event: str
    arguments: list[str]


@click.command()
@click.argument("job_id")
@click.option("--directory", type=click.Path(path_type=Path), help="Where to put the commit; a new folder without it.")
@click.option("--run", "at_once", is_flag=True, help="Do it at once instead of printing how.")
@json_option
def repro(*, job_id: str, directory: Path | None, at_once: bool, as_json: bool) -> int:
    """Print how to run a job of a workflow on this machine as it was run by a runner: `ostler repro JOB | sh`."""

    async def asked(client: Client) -> tuple[ReproReply, list[str]]:
        found = await client.call(REPRO_JOB, job_id=job_id)
        return found, (await client.call(GET_JOB, job_id=job_id)).secret_names

    found, secret_names = with_client(asked)
    if as_json:
        output.print_json(found)
        return 0
    folder = directory or Path(f"repro-{job_id[-6:]}")
    recipe = recipe_of(found, secret_names, folder)
    if not at_once:
        _print(recipe, folder)
        return 0
    if folder.exists() and any(folder.iterdir()):
        raise CommandFailed(f"{folder} is not empty", fix="name another folder with --directory", code="folder_in_use")
    return _run(recipe, folder)


def recipe_of(found: ReproReply, secret_names: list[str], folder: Path) -> Recipe:
    """Return what it takes to run a job again in a folder."""
    options = ["--event", found.event, "--event-path", _EVENT_FILE, "--ref", found.ref, "--job", found.job]
    for name, value in (found.matrix or {}).items():
        if isinstance(value, bool | int | float | str):
            options += ["--matrix", f"{name}={_text(value)}"]
    for name, value in found.inputs.items():
        options += ["--input", f"{name}={_text(value)}"]
    for name, value in found.variables.items():
        options += ["--var", f"{name}={value}"]
    for name in secret_names:
        options += ["--secret", name]
    git = ["git", "-C", str(folder)]
    return Recipe(
        fetches=[
            ["git", "init", "--quiet", "--", str(folder)],
            [*git, "fetch", "--quiet", "--depth", "1", "--", found.clone_url, found.sha],
            [*git, "checkout", "--quiet", "--detach", "FETCH_HEAD"],
        ],
        event=msgspec.json.encode(found.payload).decode(),
        arguments=["run", found.path, *options],
    )


def _print(recipe: Recipe, folder: Path) -> None:
    output.print_line("set -e")
    for command in recipe.fetches:
        output.print_line(shlex.join(command))
    output.print_line(f"cd {shlex.quote(str(folder))}")
    output.print_line(f"printf '%s' {shlex.quote(recipe.event)} > {_EVENT_FILE}")
    output.print_line(shlex.join(["ostler", *recipe.arguments]))


def _run(recipe: Recipe, folder: Path) -> int:
    for command in recipe.fetches:
        if subprocess.run(command, check=False).returncode:
            raise CommandFailed(f"{shlex.join(command)} failed", fix="see what git says above", code="fetch_failed")
    (folder / _EVENT_FILE).write_text(recipe.event, encoding="utf-8")
    return subprocess.run([*_OURSELVES, *recipe.arguments], cwd=folder, check=False).returncode


def _text(value: Raw) -> str:
    return as_text(value) if isinstance(value, bool | int | float | str) else msgspec.json.encode(value).decode()
