"""Claiming: many waiting runners are served by one transaction.

Each runner asks for the classes it matches (`ostler.scheduling.demand`) and gets the job that is due first among
them. Runners that ask for the same classes are served by one statement per class. Admission is checked again here,
because what a server knows in memory may be a moment old.

A runner has one open attempt per slot, which a unique index guarantees. If it already holds a claim in the slot it
asks for, it gets that claim again, whatever its key: a runner asks only for free slots, so it cannot have learned of
it. That makes lost replies and repeated requests harmless.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection

from ostler.domain.attempt import AttemptState
from ostler.domain.job import JobKind, Slot
from ostler.domain.machine import Refused
from ostler.domain.runner import Admission
from ostler.store.database import hint
from ostler.store.sql import Fields, Insert, Sql
from ostler.store.transitions import lease_expiry

ROUNDS = 3
"""Others may take what was seen at the front; after so many looks a runner waits for the next hint."""


class Want(msgspec.Struct, frozen=True, kw_only=True):
    """One runner that asks for one job of one slot, from any of these classes."""

    runner_id: str
    slot: Slot
    key: str
    demand_ids: tuple[str, ...]


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """A job leased to the runner. `submissions.opened` makes its spec whole."""

    job_id: str
    run_id: str
    fence: int
    kind: JobKind
    slot: Slot
    runner_id: str
    lease_micros: int
    spec: str
    sealed: bytes | None
    repeated: bool = False
    created_at: int = 0
    """When the job was submitted; not known for a claim that is given again."""


class _Taken(msgspec.Struct, frozen=True):
    """A job that this transaction has just claimed, or that the runner had claimed before."""

    job_id: str
    run_id: str
    fence: int
    kind: JobKind
    repeated: bool = False
    created_at: int = 0


_RUNNERS = Sql(
    "SELECT r.id, r.name, r.admission, p.disabled, a.slot, a.state, a.fence, a.job_id, j.run_id, j.kind"
    " FROM runners r JOIN pools p ON p.id = r.pool_id"
    " LEFT JOIN attempts a ON a.runner_id = r.id AND a.held = 1"
    " LEFT JOIN jobs j ON j.id = a.job_id"
    " WHERE r.id [among ids]"
)
_FRONT = Sql(
    "SELECT urgency, position FROM jobs WHERE waiting = 1 AND demand_id = :demand_id"
    " ORDER BY urgency, position LIMIT :wanted"
)
TAKE = Sql(
    "UPDATE jobs SET state = 'claimed', fence = fence + 1 WHERE id [picked]"
    "SELECT id FROM jobs WHERE waiting = 1 AND demand_id = :demand_id"
    " ORDER BY urgency, position LIMIT :wanted [skip_locked]"
    "[/picked] RETURNING id, run_id, fence, kind, urgency, position, created_at"
)
_TAKE_ONE = Sql(
    "UPDATE jobs SET state = 'claimed', fence = fence + 1 WHERE id = :job_id AND waiting = 1"
    " RETURNING id, run_id, fence, kind, urgency, position, created_at"
)
_DEMAND_OF = Sql("SELECT demand_id, state FROM jobs WHERE id = :job_id")
_ATTEMPTS = Insert(
    "attempts",
    {
        "job_id": "text",
        "fence": "bigint",
        "runner_id": "text",
        "runner_name": "text",
        "slot": "text",
        "state": "text",
        "claim_key": "text",
        "claimed_at": "bigint",
        "lease_expires_at": "bigint",
        "events_stored": "bigint",
        "log_bytes": "bigint",
        "log_lines": "bigint",
        "log_sealed": "bigint",
    },
)
_RENEW = Sql(
    "UPDATE attempts SET lease_expires_at = :expires_at WHERE job_id [among ids] AND state = 'claimed' AND held = 1"
)
_SPECS = Sql("SELECT job_id, spec, sealed FROM job_specs WHERE job_id [among ids]")


def claim_batch(connection: Connection, wants: Sequence[Want], now: int) -> list[Claimed | None]:
    """Serve all these runners; the answers are in the order of the wants."""
    names, held = _look_at_runners(connection, wants)
    taken: list[_Taken | None] = [None] * len(wants)
    asking: dict[tuple[str, ...], list[int]] = {}
    asked: set[tuple[str, Slot]] = set()
    for index, want in enumerate(wants):
        place = (want.runner_id, want.slot)
        if place in held:
            taken[index] = held[place]
        elif want.runner_id in names and want.demand_ids and place not in asked:
            asked.add(place)
            asking.setdefault(want.demand_ids, []).append(index)
    for demand_ids, indexes in asking.items():
        for index, job in zip(indexes, _take(connection, demand_ids, len(indexes)), strict=False):
            taken[index] = job
    return _hand_out(connection, wants, taken, names, now)


def claim_one(connection: Connection, want: Want, job_id: str, now: int) -> Claimed | Refused:
    """Claim a given waiting job on behalf of a named runner, if the job's class is among those it wants (rule 5)."""
    names, held = _look_at_runners(connection, (want,))
    if want.runner_id not in names:
        return Refused("transition_refused", "the runner does not take work now")
    place = (want.runner_id, want.slot)
    before = held.get(place)
    if place in held and (before is None or before.job_id != job_id):
        return Refused("transition_refused", f"the runner's {want.slot.value} slot is taken")
    if before is None:
        row = _DEMAND_OF.row(connection, job_id=job_id)
        if row is None:
            return Refused("not_found", f"there is no job {job_id!r}")
        if row[0] not in want.demand_ids:
            return Refused("transition_refused", "the runner does not match what the job needs")
        rows = _TAKE_ONE.rows(connection, job_id=job_id)
        if not rows:
            return Refused("transition_refused", f"the job is {row[1]}, not queued")
        before = _taken(rows[0])
    claimed = _hand_out(connection, (want,), [before], names, now)[0]
    hint(connection, f"runner:{want.runner_id}")
    return claimed or Refused("transition_refused", "the job was taken by another runner")


def _look_at_runners(
    connection: Connection, wants: Sequence[Want]
) -> tuple[dict[str, str], dict[tuple[str, Slot], _Taken | None]]:
    """Return the names of those that may take work, and what each slot holds; a started attempt is given as None."""
    names: dict[str, str] = {}
    held: dict[tuple[str, Slot], _Taken | None] = {}
    for row in _RUNNERS.rows(connection, ids=list({want.runner_id for want in wants})):
        runner_id, name, admission, disabled, slot, state, fence, job_id, run_id, kind = row
        if admission == Admission.ACTIVE.value and not disabled:
            names[runner_id] = name
        if slot is not None:
            unknown = state == AttemptState.CLAIMED.value
            held[runner_id, Slot(slot)] = _Taken(job_id, run_id, fence, JobKind(kind), True) if unknown else None
    return names, held


def _take(connection: Connection, demand_ids: tuple[str, ...], wanted: int) -> list[_Taken]:
    found: list[tuple[int, int, _Taken]] = []
    for _ in range(ROUNDS):
        missing = wanted - len(found)
        shares = {demand_ids[0]: missing} if len(demand_ids) == 1 else _shares(connection, demand_ids, missing)
        for demand_id, share in shares.items():
            rows = TAKE.rows(connection, demand_id=demand_id, wanted=share)
            found += [(row[4], row[5], _taken(row)) for row in rows]
        if len(found) >= wanted or not shares or len(demand_ids) == 1:
            break
    return [job for _, _, job in sorted(found, key=lambda each: each[:2])]


def _shares(connection: Connection, demand_ids: tuple[str, ...], wanted: int) -> dict[str, int]:
    """Return how many jobs of each class are among the first that are due."""
    due = [
        (urgency, position, demand_id)
        for demand_id in demand_ids
        for urgency, position in _FRONT.rows(connection, demand_id=demand_id, wanted=wanted)
    ]
    return Counter(demand_id for _, _, demand_id in sorted(due)[:wanted])


def _taken(row: Fields) -> _Taken:
    return _Taken(row[0], row[1], row[2], JobKind(row[3]), created_at=row[6])


def _hand_out(
    connection: Connection, wants: Sequence[Want], taken: Sequence[_Taken | None], names: dict[str, str], now: int
) -> list[Claimed | None]:
    pairs = [(want, job) for want, job in zip(wants, taken, strict=True) if job is not None]
    if not pairs:
        return [None] * len(wants)
    expires_at = lease_expiry(JobKind.CI, started=False, now=now)
    fresh = [(want, job) for want, job in pairs if not job.repeated]
    _ATTEMPTS.run(
        connection,
        [
            (
                job.job_id,
                job.fence,
                want.runner_id,
                names[want.runner_id],
                want.slot.value,
                AttemptState.CLAIMED.value,
                want.key,
                now,
                expires_at,
                0,
                0,
                0,
                0,
            )
            for want, job in fresh
        ],
    )
    if again := [job.job_id for _, job in pairs if job.repeated]:
        _RENEW.run(connection, expires_at=expires_at, ids=again)
    for _, job in fresh:
        hint(connection, f"run:{job.run_id}")
    specs = {row[0]: (row[1], row[2]) for row in _SPECS.rows(connection, ids=[job.job_id for _, job in pairs])}
    return [
        None if job is None else _claimed(want, job, expires_at - now, specs[job.job_id])
        for want, job in zip(wants, taken, strict=True)
    ]


def _claimed(want: Want, job: _Taken, lease_micros: int, spec: tuple[str, bytes | None]) -> Claimed:
    return Claimed(
        job_id=job.job_id,
        run_id=job.run_id,
        fence=job.fence,
        kind=job.kind,
        slot=want.slot,
        runner_id=want.runner_id,
        lease_micros=lease_micros,
        spec=spec[0],
        sealed=spec[1],
        repeated=job.repeated,
        created_at=job.created_at,
    )
