"""Which commit a happening is about, where its workflows are read, and what it is called in the ``github`` context.

A push and a pull request are answered by the files of their own commit. A pull request that is answered with the
rights of the repository (``pull_request_target``) is answered by the default branch, so that nobody can propose the
very workflow that would run (threat 13); so is everything that is about no commit at all.
"""

import re
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from ostler.domain.machine import Refused
from ostler.protocol.v1.repository_messages import RepositoryView
from ostler.server.git.sources import Origin, Resolved, Sources
from ostler.store.triggers import Occurrence

OF_ITS_COMMIT: Final = frozenset({"push", "pull_request", "create", "workflow_dispatch", "release", "merge_group"})
MAY_BE_SKIPPED: Final = frozenset({"push", "pull_request"})

_NOTHING = re.compile(r"0*")
_SKIP = re.compile(r"\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]")
_SKIP_TRAILER = re.compile(r"\n\n(?:.*\n)*skip-checks: ?true\s*\Z")


class Place(NamedTuple):
    """Where a run stands: its reference and commit, and the commit that its workflow is read from."""

    ref: str
    sha: str
    definition_sha: str


async def place_of(
    sources: Sources, origin: Origin, repository: RepositoryView, occurrence: Occurrence
) -> Place | Refused:
    """Return where the runs of a happening stand."""
    if occurrence.event in OF_ITS_COMMIT:
        if occurrence.sha and not _NOTHING.fullmatch(occurrence.sha):
            return Place(occurrence.ref, occurrence.sha, occurrence.sha)
        if occurrence.ref:
            return _place(await sources.resolve(origin, occurrence.ref))
    return _place(await sources.resolve(origin, repository.default_branch))


def _place(resolved: Resolved | Refused) -> Place | Refused:
    return resolved if isinstance(resolved, Refused) else Place(resolved.ref, resolved.sha, resolved.sha)


async def changed_files(
    sources: Sources, origin: Origin, repository: RepositoryView, occurrence: Occurrence
) -> list[str] | None:
    """Return the files that a push or a pull request changes; nothing if that is not known in full."""
    if occurrence.event in ("pull_request", "pull_request_target"):
        base = occurrence.base_sha
        if not base:
            resolved = await sources.resolve(origin, f"refs/heads/{occurrence.base}")
            base = "" if isinstance(resolved, Refused) else resolved.sha
        return await sources.changed(origin, base, occurrence.head_sha, forked=True)
    if occurrence.event != "push":
        return None
    if not _NOTHING.fullmatch(occurrence.before):
        return await sources.changed(origin, occurrence.before, occurrence.sha)
    default = await sources.resolve(origin, repository.default_branch)
    if isinstance(default, Refused) or default.sha == occurrence.sha:
        return None
    return await sources.changed(origin, default.sha, occurrence.sha, forked=True)


def asks_to_be_skipped(message: str) -> bool:
    """Whether the message of a commit says that nothing is to run for it."""
    return bool(_SKIP.search(message) or _SKIP_TRAILER.search(message))


def server_url(repository: RepositoryView) -> str:
    """Return the address of the forge that people open: what ``github.server_url`` says."""
    if repository.forge == "github" and not repository.forge_url:
        return "https://github.com"
    address = repository.clone_url
    if "://" not in address:
        return f"https://{address.partition(':')[0].rpartition('@')[2]}"
    parts = urlsplit(address)
    if parts.scheme in ("http", "https"):
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return f"https://{parts.hostname}" if parts.hostname else "https://localhost"


def api_url(repository: RepositoryView) -> str:
    """Return the address of the forge's API."""
    if repository.forge_url:
        return repository.forge_url
    server = server_url(repository)
    if repository.forge == "gitlab":
        return f"{server}/api/v4"
    if repository.forge == "gitea":
        return f"{server}/api/v1"
    return "https://api.github.com" if server == "https://github.com" else f"{server}/api/v3"
