"""``ostler action``: which actions workflows use, the lock file that pins them, and the server's store of them."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import click
import msgspec

from ostler.actions.errors import UnsafeTree
from ostler.actions.job_api import CallFailed, JobApi
from ostler.actions.library import tar_tree
from ostler.actions.library.git_source import GitSource
from ostler.actions.library.library import Fetched, Library
from ostler.actions.library.lock import PLACES, Lock, Locked, parse_lock, render_lock
from ostler.actions.library.references import Remote, parse_uses
from ostler.actions.library.sources import check_mirror, open_sources
from ostler.actions.library.usage import FOLDERS, Usage, find_usage
from ostler.actions.tree import copy_tree
from ostler.cli import output
from ostler.cli.connection import with_client
from ostler.cli.context import load_context
from ostler.cli.errors import CommandFailed
from ostler.cli.local_run.early import cache_folder
from ostler.cli.options import json_option
from ostler.domain.machine import Refused
from ostler.protocol.v1.action_table import LIST_ACTIONS

_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
_directory = click.argument("directory", type=_DIRECTORY, default=Path())
_mirrors = click.option(
    "--mirror",
    "mirrors",
    multiple=True,
    help="A folder or an address of a git server that has actions. May be repeated.",
)


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One action that is used."""

    uses: str
    state: str
    """``built in``, ``locked`` or ``not locked``."""
    places: list[str]
    digest: str = ""
    commit: str = ""


class Checked(msgspec.Struct, frozen=True):
    """What ``lock`` found or wrote."""

    file: str
    actions: dict[str, Locked]
    added: list[str] = []
    moved: list[str] = []
    unused: list[str] = []


@click.group()
def action() -> None:
    """See, lock and import the actions that workflows use."""


@action.command("list")
@_directory
@click.option("--server", is_flag=True, help="List what the server's store has instead.")
@json_option
def list_(*, directory: Path, server: bool, as_json: bool) -> None:
    """List the actions that the workflows of a repository use."""
    if server:
        _list_stored(as_json=as_json)
        return
    _, lock = _lock(directory)
    rows: list[Row] = []
    for used in find_usage(directory, None).used:
        locked = lock.actions.get(used.remote.at)
        state = "built in" if used.builtin else "locked" if locked else "not locked"
        found = locked or Locked("")
        rows.append(Row(used.remote.text, state, list(used.places), found.digest, found.commit))
    if as_json:
        output.print_json(rows)
        return
    table = [(row.uses, row.state, row.commit[:12] or "-", row.places[0]) for row in rows]
    output.print_table(("ACTION", "STATE", "COMMIT", "WHERE"), table, empty="no workflow uses an action")


@action.command()
@_directory
@click.option("--check", is_flag=True, help="Write nothing; fail if the file is not what it should be.")
@click.option("--update", is_flag=True, help="Lock what every tag and branch is now.")
@_mirrors
@json_option
def lock(*, directory: Path, check: bool, update: bool, mirrors: tuple[str, ...], as_json: bool) -> None:
    """Write the digests of all actions that the workflows use, and of those that these use, into the lock file.

    What is locked already stays as it is, and the command fails if it has moved; `--update` takes what it is now.
    """
    file, before = _lock(directory)
    usage = _usage(directory, mirrors, {} if update or check else before.pins)
    if usage.problems:
        raise CommandFailed("; ".join(usage.problems[:5]), code="action_lock", fix="correct these first")
    actions = {used.remote.at: Locked(used.fetched.digest, used.fetched.commit) for used in usage.used if used.fetched}
    for uses, locked in before.actions.items():
        if uses in actions and actions[uses].digest == locked.digest:
            actions[uses] = locked
    found = Checked(
        str(file),
        actions,
        added=sorted(actions.keys() - before.actions.keys()),
        moved=sorted(uses for uses, locked in before.actions.items() if uses in actions and actions[uses] != locked),
        unused=sorted(before.actions.keys() - actions.keys()),
    )
    changes = [*found.added, *found.moved, *found.unused]
    if not check and changes:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(render_lock(Lock(actions=actions)))
    if as_json:
        output.print_json(found)
    else:
        _tell(found, check=check)
    if check and changes:
        raise click.exceptions.Exit(1)


@action.command("import")
@click.argument("references", nargs=-1, metavar="OWNER/REPO@REF…")
@click.option("--from", "origin", default="", metavar="PATH|URL", help="A folder, a tar archive or a git address.")
@click.option("--used", is_flag=True, help="Import all that the workflows of this folder use.")
@click.option("--replace", is_flag=True, help="Replace what the server has under the same ref.")
@_mirrors
@json_option
def import_(
    *, references: tuple[str, ...], origin: str, used: bool, replace: bool, mirrors: tuple[str, ...], as_json: bool
) -> None:
    """Put actions into the server's store, for runners that reach nothing else."""
    wanted = [_remote(text) for text in references]
    if used:
        usage = _usage(Path(), mirrors, _lock(Path())[1].pins)
        wanted += [
            Remote(each.remote.owner, each.remote.repo, "", each.remote.ref) for each in usage.used if each.fetched
        ]
    if not wanted or (origin and len(wanted) > 1):
        raise click.UsageError("name what to import, OWNER/REPO@REF; with --from exactly one")
    context = load_context()
    api = JobApi(context.url, context.token)
    stored: list[dict[str, object]] = []
    for remote in dict.fromkeys(wanted):
        with tempfile.TemporaryDirectory(prefix="ostler-action-") as folder:
            tree, commit = _tree(remote, origin, mirrors, Path(folder))
            archive = Path(folder, "action.tar.gz")
            tar_tree.pack(tree, archive)
            query = {"ref": remote.ref, "commit": commit, "replace": "1" if replace else "0"}
            path = f"/api/v1/actions/{quote(remote.owner)}/{quote(remote.repo)}"
            try:
                stored.append(api.upload(path, str(archive), {name: value for name, value in query.items() if value}))
            except CallFailed as failure:
                raise CommandFailed(str(failure), code=failure.problem or failure.code) from failure
        if not as_json:
            output.say(f"imported {remote.at}" + (f" ({commit[:12]})" if commit else ""))
    if as_json:
        output.print_json(stored)


def _tree(remote: Remote, origin: str, mirrors: Sequence[str], folder: Path) -> tuple[Path, str]:
    """Return the files of an action below a folder, and their commit if it is known."""
    tree = folder / "tree"
    if not origin:
        fetched = _library(mirrors, {}).fetch(remote, tree)
        if isinstance(fetched, Refused):
            raise CommandFailed(fetched.reason, code=fetched.code)
        return tree, fetched.commit
    tree.mkdir()
    place = Path(origin)
    try:
        if place.is_file():
            tar_tree.unpack(place, tree)
            return tree, remote.commit
        if place.is_dir() and not (place / ".git").exists() and not (place / "HEAD").exists():
            copy_tree(place, tree)
            return tree, remote.commit
    except UnsafeTree as reason:
        raise CommandFailed(f"{origin} cannot be imported: {reason.reason}", code=reason.code) from reason
    source = GitSource(f"file://{place.absolute()}" if place.is_dir() else origin, exact=True)
    version = source.resolve(remote) if not remote.commit else None
    fetched = version if isinstance(version, Refused) else _library([], {}, source).fetch(remote, folder / "fetched")
    if isinstance(fetched, Refused):
        raise CommandFailed(fetched.reason, code=fetched.code)
    return folder / "fetched", fetched.commit


def _list_stored(*, as_json: bool) -> None:
    reply = with_client(lambda client: client.call(LIST_ACTIONS))
    if as_json:
        output.print_json(reply)
        return
    rows = [
        (f"{item.owner}/{item.repository}@{item.ref}", item.commit[:12] or "-", str(item.size), item.digest[:19])
        for item in reply.actions
    ]
    output.print_table(
        ("ACTION", "COMMIT", "BYTES", "DIGEST"), rows, empty="no actions; `ostler action import` adds some"
    )


def _usage(directory: Path, mirrors: Sequence[str], pins: dict[str, str]) -> Usage:
    """Walk the workflows, with everything that they use fetched."""
    if not any((directory / folder).is_dir() for folder in FOLDERS):
        raise CommandFailed(
            f"{directory} has no workflows", fix=f"go to a repository with {FOLDERS[1]}", code="no_workflows"
        )
    library = _library(mirrors, pins)
    with tempfile.TemporaryDirectory(prefix="ostler-actions-") as folder:

        def fetch(remote: Remote) -> tuple[Fetched, Path] | Refused:
            place = Path(folder, quote(remote.at, safe=""))
            fetched = library.fetch(remote, place)
            return fetched if isinstance(fetched, Refused) else (fetched, place)

        return find_usage(directory, fetch)


def _library(mirrors: Sequence[str], pins: dict[str, str], *sources: GitSource) -> Library:
    chosen = tuple(mirrors) or tuple(os.environ.get("OSTLER_ACTION_MIRRORS", "").split())
    for mirror in chosen:
        refused = check_mirror(mirror)
        if isinstance(refused, Refused):
            raise CommandFailed(refused.reason, code=refused.code)
    cache = cache_folder(os.environ) / "actions"
    return Library(cache=cache, into=cache, sources=sources or open_sources(chosen), pins=pins)


def _lock(directory: Path) -> tuple[Path, Lock]:
    """Return where the lock file is or belongs, and what it says."""
    for name in PLACES:
        if (directory / name).is_file():
            lock = parse_lock((directory / name).read_bytes())
            if isinstance(lock, Refused):
                raise CommandFailed(f"{name}: {lock.reason}", code=lock.code)
            return directory / name, lock
    own = PLACES[0] if (directory / FOLDERS[0]).is_dir() else PLACES[1]
    return directory / own, Lock()


def _remote(text: str) -> Remote:
    reference = parse_uses(text)
    if not isinstance(reference, Remote):
        reason = reference.reason if isinstance(reference, Refused) else f"`{text}` names no repository"
        raise click.UsageError(reason)
    return Remote(reference.owner, reference.repo, "", reference.ref)


def _tell(found: Checked, *, check: bool) -> None:
    for uses in found.added:
        output.print_line(f"{'missing' if check else 'added'}  {uses}  {found.actions[uses].digest}")
    for uses in found.moved:
        output.print_line(f"moved  {uses}  {found.actions[uses].digest}")
    for uses in found.unused:
        output.print_line(f"{'unused' if check else 'removed'}  {uses}")
    if not (found.added or found.moved or found.unused):
        output.say(f"{found.file} is up to date: {output.count(len(found.actions), 'action')}")
    elif check:
        output.say("run `ostler action lock`, with --update if what moved is what you want, and commit the lock file")
