"""The queue as people see it: what waits, in the order of service, and why (rule 13).

Every question is bounded: a million waiting jobs are not counted to tell one of them its place.
"""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

from collections.abc import Sequence
from functools import cache
from typing import Final

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.protocol.v1.run_messages import QueueEntry, QueueQuery, QueueReply, WaitReason
from ostler.scheduling import waiting
from ostler.scheduling.demand import DemandClass, RunnerFacts
from ostler.store import demands, pools, runners
from ostler.store.database import hint
from ostler.store.sql import Fields, Sql

COUNTED_AHEAD: Final = 1_000
"""How far ahead of a job is counted; further back a place tells nothing."""

_RECENT: Final = 20

_JOBS = Sql(
    "SELECT j.id, j.demand_id, j.urgency, j.position, p.id, p.name, p.disabled, p.ever_live"
    " FROM jobs j JOIN pools p ON p.id = j.pool_id WHERE j.id [among ids] AND j.state = 'queued'"
    " ORDER BY j.demand_id, j.urgency, j.position"
)
_AHEAD = Sql(
    "SELECT count(*) FROM (SELECT 1 AS one FROM jobs WHERE waiting = 1 AND demand_id = :demand_id"
    " AND (urgency, position) < (:urgency, :position) LIMIT :counted) AS ahead"
)
_DURATIONS = Sql("SELECT started_at, finished_at FROM runs WHERE state = 'succeeded' ORDER BY id DESC LIMIT :most")
_DEPTH = Sql(
    "SELECT count(*) FROM (SELECT 1 AS one FROM jobs WHERE waiting = 1 AND pool_id = :pool_id LIMIT :counted)"
    " AS waiting"
)
_WAITING = Sql("SELECT count(*) FROM jobs WHERE waiting = 1")
_LOCK_JOB = Sql("SELECT state, pool_id, run_id FROM jobs WHERE id = :job_id [lock]")
_FRONT = Sql("SELECT min(urgency) FROM jobs WHERE waiting = 1 AND pool_id = :pool_id")
_MOVE = Sql("UPDATE jobs SET urgency = :urgency WHERE id = :job_id AND waiting = 1")

_ENTRY_COLUMNS = """j.id, j.run_id, j.name, j.priority, j.created_at, j.demand_id, j.urgency, j.position"""


class _PoolSeen(msgspec.Struct, frozen=True):
    """What is read once per pool to explain many of its jobs."""

    facts: waiting.PoolFacts
    runners: list[RunnerFacts]


def explain(connection: Connection, job_id: str) -> WaitReason | None:
    """Return why a job is not running; nothing if it does not wait."""
    return explain_many(connection, (job_id,)).get(job_id)


def explain_many(connection: Connection, job_ids: Sequence[str]) -> dict[str, WaitReason]:
    """Return why each of these jobs is not running; those that do not wait are absent."""
    rows = _JOBS.rows(connection, ids=job_ids)
    if not rows:
        return {}
    classes = demands.get(connection, sorted({row[1] for row in rows}))
    duration = _mean_duration(connection)
    seen: dict[str, _PoolSeen] = {}
    reasons: dict[str, WaitReason] = {}
    before: tuple[str, waiting.Place, WaitReason] | None = None
    for job_id, demand_id, urgency, position, pool_id, pool_name, disabled, ever_live in rows:
        if before is not None and before[0] == demand_id and before[1].more:
            # What is already too far back to be counted is not counted again for those behind it.
            reasons[job_id] = before[2]
            continue
        if pool_id not in seen:
            facts = waiting.PoolFacts(name=pool_name, disabled=bool(disabled), ever_live=bool(ever_live))
            seen[pool_id] = _PoolSeen(facts, runners.facts(connection, pool_id=pool_id))
        place = _place(connection, demand_id, urgency, position, duration)
        reason = waiting.explain(classes[demand_id], seen[pool_id].facts, seen[pool_id].runners, place)
        reasons[job_id] = reason
        before = demand_id, place, reason
    return reasons


def list_page(connection: Connection, query: QueueQuery) -> QueueReply | Refused:
    """Return a page of waiting jobs in the order of service, each with its reason."""
    known = pools.list_all(connection)
    chosen = [pool for pool in known if not query.pool or query.pool in (pool.id, pool.name)]
    if not chosen:
        return Refused("not_found", f"there is no pool {query.pool!r}")
    after = _after(query.cursor)
    if isinstance(after, Refused):
        return after
    rows: list[tuple[Fields, str]] = []
    for pool in chosen:
        sql = _page(first=after is None)
        urgency, position, job_id = after or (0, 0, "")
        found = sql.rows(
            connection, pool_id=pool.id, urgency=urgency, position=position, job_id=job_id, most=query.limit + 1
        )
        rows += [(row, pool.id) for row in found]
    rows.sort(key=lambda pair: (pair[0][6], pair[0][7], pair[0][0]))
    page = rows[: query.limit]
    seen = {
        pool.id: _PoolSeen(
            waiting.PoolFacts(name=pool.name, disabled=pool.disabled, ever_live=pool.status.value != "inactive"),
            runners.facts(connection, pool_id=pool.id),
        )
        for pool in chosen
        if any(pool_id == pool.id for _, pool_id in page)
    }
    cursor = ""
    if len(rows) > query.limit:
        last = page[-1][0]
        cursor = f"{last[6]}:{last[7]}:{last[0]}"
    return QueueReply(_entries(connection, page, seen), sum(pool.waiting_jobs for pool in chosen), cursor)


def waiting_jobs(connection: Connection) -> int:
    """Return how many jobs wait in all pools; a measurement, not for pages."""
    return int((_WAITING.row(connection) or (0,))[0])


def depth(connection: Connection, pool_id: str) -> int:
    """Return how many jobs wait in a pool, counted up to `pools.COUNTED_JOBS`."""
    row = _DEPTH.row(connection, pool_id=pool_id, counted=pools.COUNTED_JOBS)
    return row[0] if row else 0


def move_to_front(connection: Connection, job_id: str) -> Refused | None:
    """Serve a waiting job before all others of its pool (rule 12)."""
    row = _LOCK_JOB.row(connection, job_id=job_id)
    if row is None:
        return Refused("not_found", f"there is no job {job_id!r}")
    if row[0] != "queued":
        return Refused("transition_refused", f"the job is {row[0]}, not queued")
    front = _FRONT.row(connection, pool_id=row[1])
    _MOVE.run(connection, job_id=job_id, urgency=(front[0] if front else 0) - 1)
    hint(connection, f"queue:{row[1]}")
    return None


@cache
def _page(*, first: bool) -> Sql:
    beyond = "" if first else " AND (j.urgency, j.position, j.id) > (:urgency, :position, :job_id)"
    return Sql(
        f"SELECT {_ENTRY_COLUMNS} FROM jobs j WHERE j.waiting = 1 AND j.pool_id = :pool_id{beyond}"
        " ORDER BY j.urgency, j.position, j.id LIMIT :most"
    )


def _after(cursor: str) -> tuple[int, int, str] | Refused | None:
    if not cursor:
        return None
    urgency, _, rest = cursor.partition(":")
    position, _, job_id = rest.partition(":")
    try:
        return int(urgency), int(position), job_id
    except ValueError:
        return Refused("query_malformed", "the cursor is not one that a page before gave")


def _entries(
    connection: Connection, page: Sequence[tuple[Fields, str]], seen: dict[str, _PoolSeen]
) -> list[QueueEntry]:
    classes = demands.get(connection, sorted({row[5] for row, _ in page}))
    duration = _mean_duration(connection)
    ahead: dict[str, waiting.Place] = {}
    entries: list[QueueEntry] = []
    for row, pool_id in page:
        job_id, run_id, name, priority, created_at, demand_id, urgency, position = row
        before = ahead.get(demand_id)
        # Within a page each job of a class stands right behind the one shown before it.
        place = _place(connection, demand_id, urgency, position, duration) if before is None else _behind(before)
        ahead[demand_id] = place
        demand: DemandClass = classes[demand_id]
        pool = seen[pool_id]
        entries.append(
            QueueEntry(
                job_id=job_id,
                run_id=run_id,
                name=name,
                pool_name=pool.facts.name,
                labels=list(demand.labels),
                priority=priority,
                created_at=created_at,
                reason=waiting.explain(demand, pool.facts, pool.runners, place),
            )
        )
    return entries


def _place(connection: Connection, demand_id: str, urgency: int, position: int, duration: int | None) -> waiting.Place:
    row = _AHEAD.row(connection, demand_id=demand_id, urgency=urgency, position=position, counted=COUNTED_AHEAD + 1)
    counted = row[0] if row else 0
    return waiting.Place(ahead=min(counted, COUNTED_AHEAD), more=counted > COUNTED_AHEAD, mean_duration_micros=duration)


def _behind(place: waiting.Place) -> waiting.Place:
    return place if place.more else msgspec.structs.replace(place, ahead=place.ahead + 1)


def _mean_duration(connection: Connection) -> int | None:
    durations = [
        finished - started
        for started, finished in _DURATIONS.rows(connection, most=_RECENT)
        if started is not None and finished is not None
    ]
    return sum(durations) // len(durations) if durations else None
