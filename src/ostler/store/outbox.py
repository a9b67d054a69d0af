"""The outbox: work that must follow a commit, kept until somebody says that it is done."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection

from ostler.domain.job import Effect
from ostler.store.sql import Sql

_TAKE = Sql(
    "UPDATE outbox SET due_at = :again_at, tries = tries + 1 WHERE id [picked]"
    "SELECT id FROM outbox WHERE due_at <= :now ORDER BY due_at LIMIT :most [skip_locked]"
    "[/picked] RETURNING id, effect, job_id, fence, tries"
)
_DONE = Sql("DELETE FROM outbox WHERE id [among ids]")
_PENDING = Sql("SELECT count(*) FROM outbox")


class Entry(msgspec.Struct, frozen=True):
    """One effect to carry out. It is handed out again if it is not done in time, so doing it twice must be harmless."""

    id: str
    effect: Effect
    job_id: str
    fence: int
    tries: int


def take(connection: Connection, now: int, *, limit: int = 100, hold_micros: int = 60_000_000) -> list[Entry]:
    """Take entries that are due; those not `done` within the hold are handed out again."""
    rows = _TAKE.rows(connection, now=now, again_at=now + hold_micros, most=limit)
    return [Entry(row[0], Effect(row[1]), row[2], row[3], row[4]) for row in rows]


def done(connection: Connection, ids: Sequence[str]) -> None:
    """Forget entries that were carried out."""
    _DONE.run(connection, ids=list(ids))


def pending(connection: Connection) -> int:
    """Return how many entries wait or are under way."""
    row = _PENDING.row(connection)
    return row[0] if row else 0
