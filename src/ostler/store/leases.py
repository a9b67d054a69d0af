"""The sweep: what becomes of attempts whose runner fell silent, by the rules of their kind (rule 8)."""

from typing import Final

import msgspec
from sqlalchemy import Connection

from ostler.domain.job import lapse
from ostler.domain.lease import CLAIM_SECONDS, SECOND, SILENCE_SECONDS
from ostler.store import leadership
from ostler.store.sql import Sql
from ostler.store.transitions import SLACK_MICROS, Change, decide, load, write

LOOP: Final = "lease_sweep"
LONGEST_GAP: Final = 20 * SECOND
"""If nobody swept for so long, no server was there to renew leases: runners get time to come back first."""

_EXPIRED = Sql(
    "SELECT job_id, fence FROM attempts WHERE held = 1 AND lease_expires_at < :now"
    " ORDER BY lease_expires_at LIMIT :most [skip_locked]"
)
_EXTEND = Sql("UPDATE attempts SET lease_expires_at = :until WHERE held = 1 AND lease_expires_at < :until")
_EXTEND_STARTED = Sql(
    "UPDATE attempts SET lease_expires_at = :until WHERE held = 1 AND lease_expires_at < :until AND state = 'started'"
    " AND slot = 'primary'"
)
_SHORTEN = Sql("UPDATE attempts SET lease_expires_at = :longest WHERE held = 1 AND lease_expires_at > :longest")


class Swept(msgspec.Struct, frozen=True):
    """What a sweep did; ``forgiving`` says that it extended leases instead, because no server had been there."""

    requeued: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    forgiving: bool = False


def sweep(connection: Connection, now: int, limit: int = 500) -> Swept:
    """Requeue or fail up to ``limit`` attempts whose leases have lapsed. Call it every few seconds."""
    if leadership.was_away(connection, LOOP, now, LONGEST_GAP):
        _EXTEND.run(connection, until=now + CLAIM_SECONDS * SECOND)
        # Nobody heard whether these were silent, so their ten minutes begin now; what may run again needs no such care.
        _EXTEND_STARTED.run(connection, until=now + SILENCE_SECONDS * SECOND)
        # What ends later than any lease can was written by a clock that has been put back since (threat 52).
        _SHORTEN.run(connection, longest=now + SILENCE_SECONDS * SECOND + SLACK_MICROS)
        return Swept(forgiving=True)
    references = [(row[0], row[1]) for row in _EXPIRED.rows(connection, now=now, most=limit)]
    changes = [
        change
        for held in load(connection, references).values()
        if _lapsed(held.attempt and held.attempt.lease_expires_at, now)
        and isinstance(change := decide(held, lapse(held.job), now), Change)
    ]
    write(connection, changes, now)
    requeued = tuple(change.job.id for change in changes if change.job.finished_at is None)
    return Swept(requeued, tuple(change.job.id for change in changes if change.job.finished_at is not None))


def _lapsed(expires_at: int | None, now: int) -> bool:
    return expires_at is not None and expires_at < now
