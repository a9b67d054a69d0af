"""A commit's status as GitHub, GitLab, and Gitea or Forgejo take it: which request says it."""

from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from ostler.domain.machine import Refused
from ostler.domain.repository import place
from ostler.protocol.v1.repository_messages import RepositoryView
from ostler.store.forge_statuses import Status

_LONGEST: Final = 140
_GITLAB: Final = {"pending": "running", "success": "success", "failure": "failed", "error": "failed"}
_SAME_AS_BEFORE: Final = 400
"""What GitLab answers to a status that it has already."""


class StatusCall(NamedTuple):
    """A POST below the address of the forge's API."""

    path: str
    headers: dict[str, str]
    body: bytes


def status_call(repository: RepositoryView, status: Status, token: str, link: str) -> StatusCall | None:
    """Return the call that tells a forge of a status; nothing if this forge has none."""
    if repository.forge == "gitlab":
        body = {
            "state": _GITLAB[status.state],
            "name": status.context,
            "target_url": link,
            "description": status.description[:_LONGEST],
        }
        path = f"/projects/{quote(_project(repository), safe='')}/statuses/{status.sha}"
        return StatusCall(path, {"private-token": token}, msgspec.json.encode(body))
    if repository.forge == "git":
        return None
    body = {
        "state": status.state,
        "context": status.context,
        "target_url": link,
        "description": status.description[:_LONGEST],
    }
    scheme = "token" if repository.forge == "gitea" else "Bearer"
    path = f"/repos/{quote(repository.full_name)}/statuses/{status.sha}"
    return StatusCall(path, {"authorization": f"{scheme} {token}"}, msgspec.json.encode(body))


def has_it(repository: RepositoryView, code: int, body: bytes) -> bool:
    """Whether an answer means that the forge knows the status."""
    if 200 <= code < 300:
        return True
    return repository.forge == "gitlab" and code == _SAME_AS_BEFORE and b"Cannot transition status" in body


def _project(repository: RepositoryView) -> str:
    """Return the whole path of a project: groups of GitLab may be nested."""
    where = place(repository.clone_url)
    return repository.full_name if isinstance(where, Refused) else where.path.strip("/").removesuffix(".git")
