"""The store of actions: which tree is kept for an owner, a repository and a ref, and where its bytes are.

Owners and repositories are told apart without regard to case, as on the forges that they come from; refs are not.
"""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.protocol.v1.action_messages import StoredAction
from ostler.store.sql import Fields, Sql
from ostler.store.submissions import DEFAULT_ORGANIZATION

_COLUMNS = "id, owner, repository, ref, size, sha256, created_at, commit_sha, created_by"
_OF_REF = Sql(
    "SELECT id, sha256 FROM stored_actions WHERE organization_id = :organization AND name = :name AND ref = :ref"
    " AND state = 'ready' [lock]"
)
_INSERT = Sql(
    "INSERT INTO stored_actions (id, organization_id, owner, repository, name, ref, commit_sha, state, size, sha256,"
    " blob_key, created_at, created_by) VALUES (:id, :organization, :owner, :repository, :name, :ref, :commit, 'ready',"
    " :size, :digest, :blob_key, :now, :created_by) ON CONFLICT DO NOTHING"
)
_FIND = Sql(
    f"SELECT {_COLUMNS}, blob_key FROM stored_actions WHERE organization_id = :organization AND name = :name"
    " AND (ref = :ref OR commit_sha = :ref) AND state = 'ready'"
    " ORDER BY CASE WHEN ref = :ref THEN 0 ELSE 1 END, id DESC LIMIT 1"
)
_LIST = Sql(f"SELECT {_COLUMNS} FROM stored_actions WHERE state = 'ready' ORDER BY name, ref")
_GET = Sql(f"SELECT {_COLUMNS} FROM stored_actions WHERE id = :id AND state = 'ready'")
_END = Sql("UPDATE stored_actions SET state = 'gone' WHERE id = :id AND state = 'ready'")
_GONE = Sql("SELECT id FROM stored_actions WHERE state = 'gone' ORDER BY id LIMIT :most")
_FORGET = Sql("DELETE FROM stored_actions WHERE id [among ids] AND state = 'gone'")


class NewAction(msgspec.Struct, frozen=True, kw_only=True):
    """A tree whose bytes are stored already."""

    id: str
    owner: str
    repository: str
    ref: str
    commit: str
    size: int
    sha256: str
    blob_key: str
    created_by: str

    @property
    def name(self) -> str:
        """What it is found by."""
        return name_of(self.owner, self.repository)


class Tree(msgspec.Struct, frozen=True):
    """A stored action, and where its bytes are."""

    action: StoredAction
    blob_key: str


def name_of(owner: str, repository: str) -> str:
    """Return what an action is found by."""
    return f"{owner}/{repository}".lower()


def put(connection: Connection, action: NewAction, now: int, *, replace: bool) -> StoredAction | Refused:
    """Store an action; the same bytes again are the same action."""
    known = _OF_REF.row(connection, organization=DEFAULT_ORGANIZATION, name=action.name, ref=action.ref)
    if known is not None:
        if known[1] == action.sha256:
            row = _GET.row(connection, id=known[0])
            return _exists(action) if row is None else _view(row)
        if not replace:
            return _exists(action)
        _END.run(connection, id=known[0])
    stored = _INSERT.run(
        connection,
        id=action.id,
        organization=DEFAULT_ORGANIZATION,
        owner=action.owner,
        repository=action.repository,
        name=action.name,
        ref=action.ref,
        commit=action.commit,
        size=action.size,
        digest=action.sha256,
        blob_key=action.blob_key,
        created_by=action.created_by,
        now=now,
    )
    row = _GET.row(connection, id=action.id) if stored else None
    return _exists(action) if row is None else _view(row)


def find(connection: Connection, owner: str, repository: str, ref: str) -> Tree | Refused:
    """Return the action that is stored under a ref, or that was imported from this commit."""
    name = name_of(owner, repository)
    row = _FIND.row(connection, organization=DEFAULT_ORGANIZATION, name=name, ref=ref)
    if row is None:
        return Refused("not_found", f"no action {name}@{ref} is stored here")
    return Tree(_view(row[:9]), row[9])


def list_all(connection: Connection) -> list[StoredAction]:
    """Return all stored actions, by name and ref."""
    return [_view(row) for row in _LIST.rows(connection)]


def delete(connection: Connection, action_id: str) -> Refused | None:
    """Take an action away from runners."""
    return None if _END.run(connection, id=action_id) else Refused("not_found", f"there is no action {action_id!r}")


def gone(connection: Connection, limit: int) -> list[str]:
    """Return what is to be deleted: its blobs first, then `forget` it."""
    return [row[0] for row in _GONE.rows(connection, most=limit)]


def forget(connection: Connection, ids: list[str]) -> None:
    """Delete rows whose blobs are deleted."""
    _FORGET.run(connection, ids=ids)


def _exists(action: NewAction) -> Refused:
    return Refused("action_exists", f"{action.name}@{action.ref} is stored with other content")


def _view(row: Fields) -> StoredAction:
    action_id, owner, repository, ref, size, sha256, created_at, commit, created_by = row
    return StoredAction(
        id=action_id,
        owner=owner,
        repository=repository,
        ref=ref,
        size=size,
        digest=f"sha256:{sha256}",
        created_at=created_at,
        commit=commit,
        created_by=created_by,
    )
