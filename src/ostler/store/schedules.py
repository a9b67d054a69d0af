"""When workflows run by themselves: one row for each line of a schedule, with the next time that it is due.

A row that is due is moved on in the transaction that stores what follows, so that of two replicas one does it.
"""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection

from ostler.store.sql import Fields, Insert, Sql

_PUT = Insert(
    "schedules",
    {
        "workflow_id": "text",
        "cron": "text",
        "timezone": "text",
        "target_id": "text",
        "next_at": "bigint",
        "missed": "bigint",
    },
    conflict="ON CONFLICT (workflow_id, cron, timezone) DO NOTHING",
)
_OF_TARGET = Sql(
    "SELECT workflow_id, cron, timezone, target_id, next_at, last_at, missed FROM schedules"
    " WHERE target_id = :target_id ORDER BY workflow_id, cron, timezone"
)
_OF_WORKFLOWS = Sql(
    "SELECT workflow_id, cron, timezone, target_id, next_at, last_at, missed FROM schedules"
    " WHERE workflow_id [among ids] ORDER BY workflow_id, next_at"
)
_DUE = Sql(
    "SELECT workflow_id, cron, timezone, target_id, next_at, last_at, missed FROM schedules WHERE next_at <= :now"
    " ORDER BY next_at LIMIT :most"
)
_MOVE = Sql(
    "UPDATE schedules SET next_at = :next_at, last_at = CAST(:last_at AS BIGINT), missed = missed + :missed"
    " WHERE workflow_id = :workflow_id AND cron = :cron AND timezone = :timezone AND next_at = :due_at"
)
_DELETE = Sql("DELETE FROM schedules WHERE workflow_id = :workflow_id AND cron = :cron AND timezone = :timezone")


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a schedule."""

    workflow_id: str
    cron: str
    timezone: str
    target_id: str
    next_at: int
    last_at: int | None = None
    missed: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from others."""
        return self.workflow_id, self.cron, self.timezone


def replace(connection: Connection, target_id: str, wanted: Sequence[Due]) -> None:
    """Have exactly these lines for a repository; those that stay keep their next time."""
    keys = {each.key for each in wanted}
    known = [_due(row) for row in _OF_TARGET.rows(connection, target_id=target_id)]
    for each in known:
        if each.key not in keys:
            _DELETE.run(connection, workflow_id=each.workflow_id, cron=each.cron, timezone=each.timezone)
    kept = {each.key for each in known}
    fresh = {each.key: each for each in wanted if each.key not in kept}
    _PUT.run(
        connection,
        [(each.workflow_id, each.cron, each.timezone, each.target_id, each.next_at, 0) for each in fresh.values()],
    )


def due(connection: Connection, now: int, *, limit: int = 100) -> list[Due]:
    """Return the lines whose time has come."""
    return [_due(row) for row in _DUE.rows(connection, now=now, most=limit)]


def move_on(connection: Connection, line: Due, next_at: int, last_at: int, missed: int) -> bool:
    """Set the next time of a line that was due; ``False`` if somebody else did."""
    return (
        _MOVE.run(
            connection,
            workflow_id=line.workflow_id,
            cron=line.cron,
            timezone=line.timezone,
            due_at=line.next_at,
            next_at=next_at,
            last_at=last_at or None,
            missed=missed,
        )
        == 1
    )


def of_workflows(connection: Connection, workflow_ids: Sequence[str]) -> dict[str, list[Due]]:
    """Return the lines of each of these workflows."""
    found: dict[str, list[Due]] = {}
    for row in _OF_WORKFLOWS.rows(connection, ids=list(workflow_ids)) if workflow_ids else ():
        line = _due(row)
        found.setdefault(line.workflow_id, []).append(line)
    return found


def _due(row: Fields) -> Due:
    names = ("workflow_id", "cron", "timezone", "target_id", "next_at", "last_at", "missed")
    return msgspec.convert(dict(zip(names, row, strict=True)), Due)
