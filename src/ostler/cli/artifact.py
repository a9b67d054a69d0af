"""``ostler artifact``: what the jobs of runs leave: uploaded by them, listed, downloaded and deleted by people.

What is downloaded is checked against its digest before anything of it is where it was asked for. An archive is unpacked
into a folder with the artifact's name, by the same code that unpacks it in jobs: nothing lands outside of the folder.
"""

import asyncio
import hashlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

import click

from ostler.actions.builtin.server_vault import ServerVault
from ostler.actions.builtin.vault import ArtifactOptions, VaultError
from ostler.actions.builtin.zip_archive import unpack
from ostler.actions.errors import UnsafeTree
from ostler.actions.job_api import CallFailed, JobApi
from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.errors import CommandFailed
from ostler.cli.options import json_option
from ostler.cli.progress import Progress
from ostler.client.caller import Client
from ostler.effects import system_effects
from ostler.protocol.v1.artifact_messages import ZIP, ArtifactsQuery, ArtifactView
from ostler.protocol.v1.artifact_table import DELETE_ARTIFACT, LIST_ARTIFACTS, READ_ARTIFACT


@click.group()
def artifact() -> None:
    """Keep what a job makes; list, download and delete what runs have left."""


@artifact.command("list")
@click.argument("run_id", metavar="RUN")
@json_option
def list_(*, run_id: str, as_json: bool) -> None:
    """List the artifacts of a run."""
    reply = with_client(lambda client: client.call(LIST_ARTIFACTS, query=ArtifactsQuery(), run_id=run_id))
    if as_json:
        output.print_json(reply)
        return
    now = system_effects().clock.now()
    rows = [
        (
            output.shown(item.name),
            output.size(item.size),
            output.ago(item.created_at, now),
            output.span(item.expires_at - now),
            item.id,
        )
        for item in reply.artifacts
    ]
    output.print_table(("NAME", "SIZE", "MADE", "EXPIRES IN", "ARTIFACT"), rows, empty="no artifacts")


@artifact.command()
@click.argument("run_id", metavar="RUN")
@click.argument("name", required=False, default="")
@click.option(
    "--to", type=click.Path(path_type=Path), default=Path(), help="The folder to put it in.", show_default="."
)
@click.option("--zip", "packed", is_flag=True, help="Keep the archive as it is instead of unpacking it.")
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
@json_option
def download(*, run_id: str, name: str, to: Path, packed: bool, overwrite: bool, as_json: bool) -> None:
    """Download an artifact of a run, or all of them, each into a folder with its name."""

    async def work(client: Client) -> list[dict[str, object]]:
        reply = await client.call(LIST_ARTIFACTS, query=ArtifactsQuery(name=name), run_id=run_id)
        if name and not reply.artifacts:
            raise CommandFailed(
                f"run {run_id} has no artifact {name!r}",
                fix=f"See `ostler artifact list {run_id}`.",
                code="artifact_missing",
            )
        return [await _fetched(client, item, to, packed=packed, overwrite=overwrite) for item in reply.artifacts]

    fetched = with_client(work)
    if as_json:
        output.print_json({"artifacts": fetched})
        return
    for item in fetched:
        output.print_line(str(item["path"]))
    if not fetched:
        output.say("no artifacts")


@artifact.command()
@click.argument("name")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--retention-days", type=click.IntRange(1, 3650), default=None, help="How long to keep it.")
@click.option("--overwrite", is_flag=True, help="Replace the run's artifact of this name.")
@json_option
def upload(*, name: str, paths: tuple[Path, ...], retention_days: int | None, overwrite: bool, as_json: bool) -> None:
    """Keep files as an artifact of the run; only within a job that was submitted with --artifacts.

    Of a folder everything below it is kept, by the path from there; of a file its name.
    """
    server, token = os.environ.get("OSTLER_URL", ""), os.environ.get("OSTLER_JOB_TOKEN", "")
    if not (server and token):
        raise CommandFailed(
            "this is no job that may keep artifacts",
            fix="Submit the job with --artifacts; in a workflow use actions/upload-artifact.",
            code="no_job_token",
        )
    options = ArtifactOptions(retention_days=retention_days or 0, overwrite=overwrite)
    try:
        vault = ServerVault(JobApi(server, token), server.rstrip("/"), tempfile.gettempdir(), "")
        kept = vault.store_artifact(name, _files(paths), options)
    except (VaultError, CallFailed) as reason:
        raise CommandFailed(f"artifact {name!r} was not kept: {reason}", code="artifact_not_kept") from reason
    if as_json:
        output.print_json({"id": kept.id, "name": kept.name, "size": kept.size})
        return
    output.print_line(kept.id)


@artifact.command()
@click.argument("artifact_id", metavar="ARTIFACT")
def delete(*, artifact_id: str) -> None:
    """Delete an artifact, named by its id."""
    with_client(lambda client: client.call(DELETE_ARTIFACT, artifact_id=artifact_id))
    output.say(f"artifact {artifact_id} deleted")


async def _fetched(client: Client, view: ArtifactView, to: Path, *, packed: bool, overwrite: bool) -> dict[str, object]:
    archive = view.mime_type == ZIP
    target = _target(view, to, packed=packed, overwrite=overwrite)
    try:
        with tempfile.TemporaryDirectory(dir=to, prefix=".ostler-") as folder:
            part = Path(folder) / "content"
            with part.open("wb") as opened:
                await _written(client, view, opened)
            await asyncio.to_thread(_place, part, target, unpacked=archive and not packed)
    except UnsafeTree as reason:
        raise CommandFailed(
            f"artifact {view.name!r} is refused: {reason.reason}",
            fix="Look at it with --zip, and at the job that made it.",
            code="artifact_unsafe",
        ) from reason
    except OSError as error:
        raise CommandFailed(
            f"{target} cannot be written: {error.strerror or error}", code="file_not_written"
        ) from error
    return {"id": view.id, "name": view.name, "path": str(target), "size": view.size, "digest": view.digest}


async def _written(client: Client, view: ArtifactView, opened: BinaryIO) -> None:
    progress = Progress(view.name, view.size, system_effects().clock)
    digest, size = hashlib.sha256(), 0
    chunks: AsyncIterator[bytes] = client.stream(READ_ARTIFACT, artifact_id=view.id)
    try:
        async for chunk in chunks:
            opened.write(chunk)
            digest.update(chunk)
            size += len(chunk)
            progress.advance(len(chunk))
    finally:
        progress.end()
    if f"sha256:{digest.hexdigest()}" != view.digest:
        raise CommandFailed(
            f"artifact {view.name!r} came with {size} bytes that are not those that the job left",
            fix="Try again; if it stays so, the blob store has lost or changed them.",
            code="artifact_damaged",
        )


def _target(view: ArtifactView, to: Path, *, packed: bool, overwrite: bool) -> Path:
    """Return where an artifact is to be put, and have the folder that it is put in."""
    ending = ".zip" if packed and view.mime_type == ZIP and not view.name.endswith(".zip") else ""
    target = to / (_plain(view.name) + ending)
    empty = target.is_dir() and not any(target.iterdir())
    if os.path.lexists(target) and not overwrite and not empty:
        raise CommandFailed(
            f"{target} is there already", fix="Name another folder with --to, or use --overwrite.", code="file_exists"
        )
    try:
        to.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandFailed(f"{to} cannot be made: {error.strerror or error}", code="file_not_written") from error
    return target


def _place(part: Path, target: Path, *, unpacked: bool) -> None:
    """Put what came where it belongs, in place of what is there."""
    if unpacked:
        tree = part.parent / "tree"
        tree.mkdir()
        unpack(str(part), str(tree))
        part = tree
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    elif unpacked:
        target.unlink(missing_ok=True)
    part.chmod(0o755 if unpacked else 0o644)
    part.replace(target)


def _files(paths: tuple[Path, ...]) -> dict[str, str]:
    """Return the files that are meant, by their paths in the archive."""
    found: dict[str, str] = {}
    for path in paths:
        below = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
        root = path.parent if path.is_file() else path
        for each in below:
            name = each.relative_to(root).as_posix()
            if name in found:
                raise click.UsageError(f"{found[name]} and {each} would both be {name} in the artifact")
            found[name] = str(each)
    return found


def _plain(name: str) -> str:
    """Return the name as one of a file; what jobs may call an artifact is nearly always that already."""
    return f"_{name}" if name in (".", "..") or name.startswith("-") else name
