"""Carrying out what the domain decided: load and lock attempts with their jobs, then write what they became.

Every change of a job's state after its submission goes through `write`, except the claim, which is one statement for
many runners. What must follow is written here too: the run's state is reduced in the same transaction, sealing a log
is an outbox row, and waking or telling somebody is a hint, because polls look again by themselves.
"""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

from collections.abc import Iterable, Sequence

import msgspec
from sqlalchemy import Connection

from ostler.domain.attempt import ATTEMPT_MACHINE, AttemptEvent, AttemptState
from ostler.domain.cause import Failure
from ostler.domain.ids import Fence, JobId, RunId, RunnerId
from ostler.domain.job import Applied, Effect, Job, JobEvent, JobKind, JobState, apply
from ostler.domain.lease import expiry
from ostler.domain.machine import Refused
from ostler.domain.run import RunState, reduce
from ostler.store import workflow_wakes
from ostler.store.database import hint
from ostler.store.sql import Fields, Insert, Sql, Update, Value

ALONE = {state: reduce((state,)) for state in JobState}
"""The state of a run of one job, which nearly all runs are. Its row is written only when it is made and when it ends;
what it does in between, its job says."""

OF_A_WORKFLOW = 0
ALONE_IN_ITS_RUN = 1
"""What the column ``siblings`` says of a job: the run of a workflow's job is the business of the workflow."""

ENDED_JOB = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
_ENDED_RUN = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED})

SLACK_MICROS = 60_000_000
"""A long lease is stored this much longer, so that most heartbeats need not write it; it never lapses early."""

SMALL_LOG_BYTES = 4096
"""A log that ended no longer than this stays in its rows for good: a blob of its own would cost more than its job."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt's row, without its identity."""

    runner_id: RunnerId
    state: AttemptState
    start_key: str | None = None
    finish_key: str | None = None
    started_at: int | None = None
    finished_at: int | None = None
    lease_expires_at: int | None = None
    log_bytes: int = 0
    failure: Failure | None = None
    exit_code: int | None = None


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A locked job together with one of its attempts, if it has any."""

    job: Job
    fence: Fence
    attempt: Attempt | None
    pool_id: str
    siblings: int
    has_secrets: bool
    exit_code: int | None
    cancel_reason: str | None

    @property
    def current(self) -> bool:
        """Whether the attempt is the job's latest."""
        return self.job.fence == self.fence

    def held_by(self, runner_id: str) -> bool:
        """Whether this runner holds the attempt and may write."""
        attempt = self.attempt
        return (
            attempt is not None
            and self.current
            and attempt.runner_id == runner_id
            and attempt.lease_expires_at is not None
        )


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a job and its current attempt."""

    before: Loaded
    job: Job
    attempt: Attempt | None
    effects: tuple[Effect, ...]
    exit_code: int | None
    cancel_reason: str | None = None


_JOB_COLUMNS = """j.id, j.run_id, j.kind, j.state, j.fence, j.started_at, j.finished_at, j.failure, j.exit_code,
    j.cancel_reason, j.pool_id, j.siblings, j.has_secrets"""
_ATTEMPT_COLUMNS = """a.fence, a.runner_id, a.state, a.start_key, a.finish_key, a.started_at, a.finished_at,
    a.lease_expires_at, a.log_bytes, a.failure, a.exit_code"""

# Both rows are locked: after waiting for a lock PostgreSQL re-reads only locked rows.
_LOAD_ATTEMPTS = Sql(
    f"SELECT {_JOB_COLUMNS}, {_ATTEMPT_COLUMNS} FROM attempts a JOIN jobs j ON j.id = a.job_id"
    " WHERE a.job_id [among ids] ORDER BY a.job_id, a.fence [lock]"
)
_LOAD_OF_RUN = Sql(f"SELECT {_JOB_COLUMNS} FROM jobs j WHERE j.run_id = :run_id ORDER BY j.id [lock]")
_STATES = Sql("SELECT run_id, state FROM jobs WHERE run_id [among ids]")
_LOCK_RUNS = Sql("SELECT id, state FROM runs WHERE id [among ids] ORDER BY id [lock]")
_UPDATE_JOBS = Update(
    "jobs",
    {"id": "text", "fence": "bigint"},
    {
        "state": "text",
        "started_at": "bigint",
        "finished_at": "bigint",
        "failure": "text",
        "exit_code": "bigint",
        "cancel_reason": "text",
    },
)
_UPDATE_ATTEMPTS = Update(
    "attempts",
    {"job_id": "text", "fence": "bigint"},
    {
        "state": "text",
        "start_key": "text",
        "finish_key": "text",
        "started_at": "bigint",
        "finished_at": "bigint",
        "lease_expires_at": "bigint",
        "failure": "text",
        "exit_code": "bigint",
    },
)
_END_LONE_RUNS = Update("runs", {"id": "text"}, {"state": "text", "started_at": "bigint", "finished_at": "bigint"})
_BEGIN_RUNS = Sql(
    "UPDATE runs SET state = :state, started_at = coalesce(started_at, CAST(:now AS BIGINT)) WHERE id [among ids]"
)
_END_RUNS = Sql("UPDATE runs SET state = :state, finished_at = :now WHERE id [among ids]")
_MOVE_RUNS = Sql("UPDATE runs SET state = :state WHERE id [among ids]")
_ERASE_SECRETS = Sql("UPDATE job_specs SET sealed = NULL WHERE job_id [among ids]")
_TO_OUTBOX = Insert(
    "outbox",
    {"id": "text", "effect": "text", "job_id": "text", "fence": "bigint", "due_at": "bigint", "tries": "bigint"},
    conflict="ON CONFLICT (id) DO NOTHING",
)

_encode_failure = msgspec.json.Encoder().encode
_decode_failure = msgspec.json.Decoder(Failure).decode


def failure_text(failure: Failure | None) -> str | None:
    """Return how a failure is stored."""
    return None if failure is None else _encode_failure(failure).decode()


def failure_from(text: str | None) -> Failure | None:
    """Return a stored failure."""
    return None if text is None else _decode_failure(text)


def load(connection: Connection, references: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Loaded]:
    """Lock these attempts and their jobs; what does not exist is absent."""
    wanted = set(references)
    if not wanted:
        return {}
    rows = _LOAD_ATTEMPTS.rows(connection, ids=sorted({job_id for job_id, _ in wanted}))
    return {(row[0], row[13]): _loaded(row) for row in rows if (row[0], row[13]) in wanted}


def load_run(connection: Connection, run_id: str) -> list[Loaded]:
    """Lock all jobs of a run with their current attempts."""
    jobs = _LOAD_OF_RUN.rows(connection, run_id=run_id)
    with_attempts = load(connection, [(row[0], row[4]) for row in jobs if row[4]])
    return [with_attempts.get((row[0], row[4])) or _loaded((*row, *[None] * 11)) for row in jobs]


def _loaded(row: Fields) -> Loaded:
    (job_id, run_id, kind, state, fence, started, finished, failure, exit_code, reason, pool, siblings, secrets) = row[
        :13
    ]
    attempt = None if row[13] is None else _attempt(row[13:])
    return Loaded(
        job=Job(
            id=JobId(job_id),
            run_id=RunId(run_id),
            kind=JobKind(kind),
            state=JobState(state),
            fence=Fence(fence),
            runner_id=None if attempt is None or state == "queued" else attempt.runner_id,
            failure=failure_from(failure),
            started_at=started,
            finished_at=finished,
        ),
        fence=Fence(fence if row[13] is None else row[13]),
        attempt=attempt,
        pool_id=pool,
        siblings=siblings,
        has_secrets=bool(secrets),
        exit_code=exit_code,
        cancel_reason=reason,
    )


def _attempt(row: Fields) -> Attempt:
    (_, runner, state, start_key, finish_key, started, finished, lease, log_bytes, failure, exit_code) = row
    return Attempt(
        runner_id=RunnerId(runner),
        state=AttemptState(state),
        start_key=start_key,
        finish_key=finish_key,
        started_at=started,
        finished_at=finished,
        lease_expires_at=lease,
        log_bytes=log_bytes,
        failure=failure_from(failure),
        exit_code=exit_code,
    )


_ATTEMPT_EVENT = {
    JobEvent.START: AttemptEvent.START,
    JobEvent.RELEASE: AttemptEvent.RELEASE,
    JobEvent.SUCCEED: AttemptEvent.SUCCEED,
    JobEvent.FAIL: AttemptEvent.FAIL,
    JobEvent.STOP: AttemptEvent.STOP,
    JobEvent.CANCEL: AttemptEvent.STOP,
    JobEvent.LOSE: AttemptEvent.LOSE,
}


def decide(
    loaded: Loaded,
    event: JobEvent,
    now: int,
    *,
    key: str | None = None,
    failure: Failure | None = None,
    exit_code: int | None = None,
    reason: str | None = None,
) -> Change | Refused:
    """Ask the domain what an event means for a job and its current attempt."""
    applied = apply(loaded.job, event, now, failure=failure)
    if isinstance(applied, Refused):
        return applied
    attempt = loaded.attempt if loaded.current else None
    if attempt is not None and applied.job.state is not loaded.job.state:
        changed = _attempt_after(attempt, event, applied, now, key)
        if isinstance(changed, Refused):
            return changed
        attempt = msgspec.structs.replace(changed, exit_code=exit_code)
    return Change(
        before=loaded,
        job=applied.job,
        attempt=attempt,
        effects=applied.effects,
        exit_code=exit_code,
        cancel_reason=loaded.cancel_reason if reason is None else reason,
    )


def _attempt_after(attempt: Attempt, event: JobEvent, applied: Applied, now: int, key: str | None) -> Attempt | Refused:
    if applied.job.state is JobState.CANCELLING:
        return attempt
    attempt_event = _ATTEMPT_EVENT[event]
    if event is JobEvent.RELEASE and attempt.state is AttemptState.STARTED:
        attempt_event = AttemptEvent.LOSE
    state = ATTEMPT_MACHINE.after(attempt.state, attempt_event)
    if isinstance(state, Refused):
        return state
    if event is JobEvent.START:
        return msgspec.structs.replace(
            attempt,
            state=state,
            start_key=key,
            started_at=now,
            lease_expires_at=lease_expiry(applied.job.kind, started=True, now=now),
        )
    return msgspec.structs.replace(
        attempt,
        state=state,
        finish_key=key,
        finished_at=now,
        lease_expires_at=None,
        failure=applied.job.failure,
    )


def lease_expiry(kind: JobKind, *, started: bool, now: int) -> int:
    """Return what is stored as a lease's expiry: never earlier than the domain says, seldom rewritten."""
    slack = SLACK_MICROS if started and not kind.redeliverable else 0
    return expiry(kind, started=started, now=now) + slack


def write(connection: Connection, changes: Sequence[Change], now: int) -> None:
    """Write what jobs and attempts became, and everything that must follow."""
    _UPDATE_JOBS.run(connection, [_job_row(change) for change in changes])
    _UPDATE_ATTEMPTS.run(
        connection,
        [
            _attempt_row(change.job, change.attempt)
            for change in changes
            if change.attempt is not None and change.attempt is not change.before.attempt
        ],
    )
    seal = [change for change in changes if Effect.SEAL_LOG in change.effects]
    long = [change for change in seal if change.attempt and change.attempt.log_bytes > SMALL_LOG_BYTES]
    to_seal(connection, [(change.job.id, change.before.fence) for change in long], now)
    erased = [change.job.id for change in changes if change.before.has_secrets and change.job.state in ENDED_JOB]
    if erased:
        _ERASE_SECRETS.run(connection, ids=erased)
    _reduce_runs(connection, changes, now)
    of_workflows = [each.job for each in changes if each.before.siblings == OF_A_WORKFLOW]
    workflow_wakes.begin(connection, [job.run_id for job in of_workflows if job.state is JobState.RUNNING], now)
    workflow_wakes.wake(connection, [(job.run_id, job.id) for job in of_workflows if job.state in ENDED_JOB], now)
    _hint(connection, changes)


def to_seal(connection: Connection, references: Iterable[tuple[str, int]], now: int) -> None:
    """Have the logs of these attempts sealed; asking twice is asking once."""
    _TO_OUTBOX.run(
        connection,
        [(f"seal_log/{job_id}/{fence}", Effect.SEAL_LOG.value, job_id, fence, now, 0) for job_id, fence in references],
    )


def _job_row(change: Change) -> tuple[Value, ...]:
    job = change.job
    return (
        job.state.value,
        job.started_at,
        job.finished_at,
        failure_text(job.failure),
        change.exit_code,
        change.cancel_reason,
        job.id,
        change.before.job.fence,
    )


def _attempt_row(job: Job, attempt: Attempt) -> tuple[Value, ...]:
    return (
        attempt.state.value,
        attempt.start_key,
        attempt.finish_key,
        attempt.started_at,
        attempt.finished_at,
        attempt.lease_expires_at,
        failure_text(attempt.failure),
        attempt.exit_code,
        job.id,
        job.fence,
    )


def _reduce_runs(connection: Connection, changes: Sequence[Change], now: int) -> None:
    by_state: dict[RunState, list[str]] = {}
    families: list[str] = []
    lone: list[tuple[Value, ...]] = []
    for change in changes:
        job = change.job
        if change.before.siblings > ALONE_IN_ITS_RUN:
            families.append(job.run_id)
        elif change.before.siblings == ALONE_IN_ITS_RUN and job.state in ENDED_JOB:
            lone.append((ALONE[job.state].value, job.started_at, job.finished_at, job.run_id))
    _END_LONE_RUNS.run(connection, lone)
    if families:
        # The lock comes first: whoever ends the last two jobs of a run at once must see each other.
        before = {str(row[0]): RunState(row[1]) for row in _LOCK_RUNS.rows(connection, ids=sorted(set(families)))}
        states: dict[str, list[JobState]] = {}
        for run_id, state in _STATES.rows(connection, ids=list(before)):
            states.setdefault(str(run_id), []).append(JobState(state))
        for run_id, was in before.items():
            if (reduced := reduce(states[run_id])) is not was:
                by_state.setdefault(reduced, []).append(run_id)
    for state, run_ids in by_state.items():
        if state in _ENDED_RUN:
            _END_RUNS.run(connection, state=state.value, now=now, ids=run_ids)
        elif state is RunState.RUNNING:
            _BEGIN_RUNS.run(connection, state=state.value, now=now, ids=run_ids)
        else:
            _MOVE_RUNS.run(connection, state=state.value, ids=run_ids)


def _hint(connection: Connection, changes: Sequence[Change]) -> None:
    for change in changes:
        hint(connection, f"run:{change.job.run_id}")
        if Effect.TELL_RUNNER in change.effects and change.before.job.runner_id:
            hint(connection, f"runner:{change.before.job.runner_id}")
        if Effect.WAKE_POOL in change.effects:
            hint(connection, f"queue:{change.before.pool_id}")
        if change.job.state in ENDED_JOB:
            hint(connection, f"log:{change.job.id}")
