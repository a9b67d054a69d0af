"""What forges are still to be told of commits: the newest status of each context, until the forge has it.

A status that changes before it was sent replaces the one that waits; a forge that was away hears of the last one only.
"""

from typing import Literal, TypeAlias

import msgspec
from sqlalchemy import Connection

from ostler.store.database import hint
from ostler.store.sql import Sql

TOPIC = "forge_statuses"
State: TypeAlias = Literal["pending", "success", "failure", "error"]

_PUT = Sql(
    "INSERT INTO forge_statuses (target_id, sha, context, run_id, state, description, version, due_at, tries)"
    " VALUES (:target_id, :sha, :context, :run_id, :state, :description, 1, :now, 0)"
    " ON CONFLICT (target_id, sha, context) DO UPDATE SET run_id = excluded.run_id, state = excluded.state,"
    " description = excluded.description, version = forge_statuses.version + 1, due_at = excluded.due_at, tries = 0"
    " WHERE forge_statuses.run_id <= excluded.run_id"
)
_TAKE = Sql(
    "UPDATE forge_statuses SET due_at = :again_at, tries = tries + 1 WHERE due_at <= :now AND (context, sha, target_id)"
    " IN (SELECT context, sha, target_id FROM forge_statuses WHERE due_at <= :now ORDER BY due_at LIMIT :most"
    " [skip_locked]) RETURNING target_id, sha, context, run_id, state, description, version, tries"
)
_DONE = Sql(
    "DELETE FROM forge_statuses WHERE target_id = :target_id AND sha = :sha AND context = :context"
    " AND version = :version"
)
_LATER = Sql(
    "UPDATE forge_statuses SET due_at = :due_at WHERE target_id = :target_id AND sha = :sha AND context = :context"
    " AND version = :version"
)


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """One status of one commit. ``context`` is what the forge knows it by."""

    target_id: str
    sha: str
    context: str
    run_id: str
    state: State
    description: str
    version: int = 0
    tries: int = 0


def put(connection: Connection, status: Status, now: int) -> None:
    """Have the forge told; an older run does not overwrite what a newer one says."""
    _PUT.run(
        connection,
        target_id=status.target_id,
        sha=status.sha,
        context=status.context,
        run_id=status.run_id,
        state=status.state,
        description=status.description,
        now=now,
    )
    hint(connection, TOPIC)


def take(connection: Connection, now: int, *, limit: int = 20, hold_micros: int = 120_000_000) -> list[Status]:
    """Take what is due; what is not `done` within the hold is handed out again."""
    rows = _TAKE.rows(connection, now=now, again_at=now + hold_micros, most=limit)
    return [
        Status(
            target_id=row[0],
            sha=row[1],
            context=row[2],
            run_id=row[3],
            state=row[4],
            description=row[5],
            version=row[6],
            tries=row[7],
        )
        for row in rows
    ]


def done(connection: Connection, status: Status) -> None:
    """Forget a status that the forge has, unless there is a newer one."""
    key = {"target_id": status.target_id, "sha": status.sha, "context": status.context}
    _DONE.run(connection, version=status.version, **key)


def later(connection: Connection, status: Status, due_at: int) -> None:
    """Try again then."""
    key = {"target_id": status.target_id, "sha": status.sha, "context": status.context}
    _LATER.run(connection, version=status.version, due_at=due_at, **key)
