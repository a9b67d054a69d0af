"""Reasons to look at a workflow run again: written with what gives the reason, taken away with what follows from it.

Whoever looks reads everything that has happened since, so a reason carries nothing but its name; one that is taken and
not done away with is handed out again. A reason that is given again while somebody looks stands after that look too.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from sqlalchemy import Connection

from ostler.store.database import hint
from ostler.store.sql import Insert, Sql

TOPIC: Final = "workflows"

_WAKE = Insert(
    "workflow_wakes",
    {"run_id": "text", "reason": "text", "due_at": "bigint", "tries": "bigint"},
    conflict="ON CONFLICT (run_id, reason) DO UPDATE SET due_at = excluded.due_at",
)
_BEGIN = Sql(
    "UPDATE runs SET state = 'running', started_at = CAST(:now AS BIGINT) WHERE id [among ids]"
    " AND started_at IS NULL AND state = 'queued'"
)
_DUE = Sql("SELECT DISTINCT run_id FROM workflow_wakes WHERE due_at <= :now ORDER BY run_id LIMIT :most")
_HOLD = Sql(
    "UPDATE workflow_wakes SET due_at = :again_at, tries = tries + 1 WHERE run_id = :run_id AND due_at <= :now"
    " RETURNING reason, tries"
)
_DONE = Sql("DELETE FROM workflow_wakes WHERE run_id = :run_id AND reason [among reasons] AND due_at = :held_until")


class Woken(msgspec.Struct, frozen=True):
    """A run to look at, for all of these reasons; ``tries`` counts how often it was handed out."""

    run_id: str
    reasons: tuple[str, ...]
    tries: int
    held_until: int


def wake(connection: Connection, reasons: Sequence[tuple[str, str]], now: int) -> None:
    """Have these runs looked at, each for its reason; a reason that stands already is enough."""
    if reasons:
        _WAKE.run(connection, [(run_id, reason, now, 0) for run_id, reason in reasons])
        hint(connection, TOPIC)


def begin(connection: Connection, run_ids: Sequence[str], now: int) -> None:
    """Have these runs shown as running: the first of their jobs has begun."""
    if run_ids:
        _BEGIN.run(connection, ids=sorted(set(run_ids)), now=now)


def take(connection: Connection, now: int, *, limit: int = 50, hold_micros: int = 60_000_000) -> list[Woken]:
    """Take runs that are to be looked at; what is not `done` within the hold is handed out again."""
    taken: list[Woken] = []
    for (run_id,) in _DUE.rows(connection, now=now, most=limit):
        rows = _HOLD.rows(connection, run_id=run_id, now=now, again_at=now + hold_micros)
        if rows:
            reasons = tuple(row[0] for row in rows)
            taken.append(Woken(run_id, reasons, max(row[1] for row in rows), now + hold_micros))
    return taken


def done(connection: Connection, woken: Woken) -> None:
    """Forget reasons whose conclusions were drawn, unless they were given again meanwhile."""
    _DONE.run(connection, run_id=woken.run_id, reasons=list(woken.reasons), held_until=woken.held_until)
