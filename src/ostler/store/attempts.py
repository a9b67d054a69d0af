"""What a runner does with an attempt after the claim: start, finish, give back, renew, and take up again after a break.

Every function checks that the caller holds the attempt under its fence; whoever does not is told so and changes
nothing (rule 7). Repetitions with the same key are answered like the first time.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from sqlalchemy import Connection

from ostler.domain.attempt import AttemptState
from ostler.domain.job import JobEvent, JobKind, JobState, lapse
from ostler.domain.machine import Refused
from ostler.protocol.v1.runner_messages import Directive, FinishRequest, HeldAttempt, LeaseRef
from ostler.store import reports
from ostler.store.sql import Sql, Update
from ostler.store.transitions import ENDED_JOB, SLACK_MICROS, Change, Loaded, decide, lease_expiry, load, write

_EVENT_OF = {"succeeded": JobEvent.SUCCEED, "failed": JobEvent.FAIL, "cancelled": JobEvent.STOP}
_RECONCILED_KEY: Final = "reconciled"

_OPEN = Sql("SELECT job_id, fence FROM attempts WHERE runner_id = :runner_id AND held = 1")
_HELD = Sql(
    "SELECT a.runner_id, a.job_id, a.fence, a.state, a.lease_expires_at, j.kind, j.state, j.cancel_reason"
    " FROM attempts a JOIN jobs j ON j.id = a.job_id"
    " WHERE a.runner_id [among ids] AND a.held = 1"
)
_RENEW = Update("attempts", {"job_id": "text", "fence": "bigint"}, {"lease_expires_at": "bigint"})
_LOCK_OPEN = Sql("SELECT job_id, fence FROM attempts WHERE runner_id = :runner_id AND held = 1 ORDER BY job_id [lock]")


class Started(msgspec.Struct, frozen=True):
    """The grant, with what the runner should know about the job's present state."""

    directive: Directive | None = None
    run_id: str = ""


class Finished(msgspec.Struct, frozen=True):
    """The acknowledgement: the job's state now."""

    state: JobState
    run_id: str
    repeated: bool = False


class LogIncomplete(msgspec.Struct, frozen=True):
    """The result came before the whole log; what is stored ends at ``expected``."""

    expected: int


class Finish(msgspec.Struct, frozen=True):
    """One runner's result, for `finish_many`."""

    runner_id: str
    request: FinishRequest


class Start(msgspec.Struct, frozen=True):
    """One runner's request for a grant, for `start_many`."""

    runner_id: str
    job_id: str
    fence: int
    key: str


def start(connection: Connection, runner_id: str, job_id: str, fence: int, key: str, now: int) -> Started | Refused:
    """Grant the start of a claimed attempt, once: the same key is granted again, another key never."""
    return start_many(connection, (Start(runner_id, job_id, fence, key),), now)[0]


def start_many(connection: Connection, requests: Sequence[Start], now: int) -> list[Started | Refused]:
    """Answer many requests for a grant in one transaction, each on its own merits."""
    loaded = load(connection, [(request.job_id, request.fence) for request in requests])
    changes: dict[str, Change] = {}
    answers: list[Started | Refused] = []
    for request in requests:
        held = loaded.get((request.job_id, request.fence))
        if held is None or held.attempt is None or held.attempt.runner_id != request.runner_id:
            answers.append(_stale(request.job_id, request.fence))
            continue
        granted = changes[request.job_id].attempt if request.job_id in changes else held.attempt
        if granted is not None and granted.state is AttemptState.STARTED and held.current:
            same = granted.start_key == request.key
            answers.append(Started(directive(held), held.job.run_id) if same else _started_already())
            continue
        if not held.held_by(request.runner_id):
            answers.append(_not_held(held))
            continue
        change = decide(held, JobEvent.START, now, key=request.key)
        if isinstance(change, Refused):
            answers.append(Refused("transition_refused", change.reason))
            continue
        changes[request.job_id] = change
        answers.append(Started(run_id=held.job.run_id))
    write(connection, list(changes.values()), now)
    return answers


def release(connection: Connection, runner_id: str, job_id: str, fence: int, now: int) -> Refused | None:
    """Give back a claim that was not started."""
    held = load(connection, ((job_id, fence),)).get((job_id, fence))
    if held is None or not held.held_by(runner_id) or held.attempt is None:
        if held is not None and held.attempt is not None and held.attempt.runner_id == runner_id:
            return None if held.attempt.state is AttemptState.RELEASED else _not_held(held)
        return _stale(job_id, fence)
    if held.attempt.state is not AttemptState.CLAIMED:
        return Refused("job_started", "the job was started and cannot be given back")
    change = decide(held, JobEvent.RELEASE, now)
    if isinstance(change, Refused):
        return Refused("transition_refused", change.reason)
    write(connection, (change,), now)
    return None


def finish(
    connection: Connection, runner_id: str, request: FinishRequest, now: int
) -> Finished | LogIncomplete | Refused:
    """Take the result of an attempt; a repeated key is acknowledged again."""
    return finish_many(connection, (Finish(runner_id, request),), now)[0]


def finish_many(
    connection: Connection, finishes: Sequence[Finish], now: int
) -> list[Finished | LogIncomplete | Refused]:
    """Take the results of many runners in one transaction, each on its own merits."""
    loaded = load(connection, [(each.request.job_id, each.request.fence) for each in finishes])
    changes: dict[str, Change] = {}
    answers: list[Finished | LogIncomplete | Refused] = []
    for each in finishes:
        request = each.request
        held = loaded.get((request.job_id, request.fence))
        earlier = changes.get(request.job_id)
        if earlier is not None:
            same = earlier.attempt is not None and earlier.attempt.finish_key == request.key
            state = Finished(earlier.job.state, earlier.job.run_id, repeated=True)
            answers.append(state if same else _ended(earlier.job.state))
            continue
        change = _finish(held, each, now)
        if isinstance(change, Change):
            changes[request.job_id] = change
            answers.append(Finished(change.job.state, change.job.run_id))
            if request.outputs:
                reports.keep_outputs(connection, request.job_id, request.outputs)
        else:
            answers.append(change)
    write(connection, list(changes.values()), now)
    return answers


def _finish(held: Loaded | None, finish: Finish, now: int) -> Change | Finished | LogIncomplete | Refused:
    request = finish.request
    if held is None or held.attempt is None or held.attempt.runner_id != finish.runner_id:
        return _stale(request.job_id, request.fence)
    if held.attempt.finish_key == request.key:
        return Finished(held.job.state, held.job.run_id, repeated=True)
    if not held.held_by(finish.runner_id):
        return _not_held(held)
    if held.attempt.state is AttemptState.CLAIMED and request.conclusion != "failed":
        return Refused("job_not_granted", "the attempt was never given a start grant")
    if held.attempt.log_bytes < request.log_bytes:
        return LogIncomplete(held.attempt.log_bytes)
    change = decide(
        held,
        _EVENT_OF[request.conclusion],
        now,
        key=request.key,
        failure=request.failure,
        exit_code=request.exit_code,
    )
    return Refused("transition_refused", change.reason) if isinstance(change, Refused) else change


def renew(connection: Connection, runner_id: str, leases: Sequence[LeaseRef], now: int) -> list[Directive]:
    """Renew what the runner names and holds; return a directive for every lease that should not simply go on."""
    return renew_many(connection, ((runner_id, leases),), now)[0]


def renew_many(
    connection: Connection, named: Sequence[tuple[str, Sequence[LeaseRef]]], now: int
) -> list[list[Directive]]:
    """Renew what many runners name, each on its own merits."""
    runner_ids = sorted({runner_id for runner_id, leases in named if leases})
    rows = _HELD.rows(connection, ids=runner_ids) if runner_ids else ()
    held = {(row[0], row[1], row[2]): row for row in rows}
    answers: list[list[Directive]] = []
    renewed: dict[tuple[str, int], int] = {}
    for runner_id, leases in named:
        directives: list[Directive] = []
        for lease in leases:
            row = held.get((runner_id, lease.job_id, lease.fence))
            if row is None:
                reason = "the attempt is not this runner's"
                directives.append(Directive(lease.job_id, lease.fence, "abandon", reason))
                continue
            state, expires_at, kind, job_state, reason = row[3:]
            if expires_at < _expiry(kind, state, now):
                started = state == AttemptState.STARTED.value
                renewed[lease.job_id, lease.fence] = lease_expiry(JobKind(kind), started=started, now=now)
            if job_state == JobState.CANCELLING.value:
                directives.append(Directive(lease.job_id, lease.fence, "cancel", reason or ""))
        answers.append(directives)
    _RENEW.run(connection, [(renewed[reference], *reference) for reference in sorted(renewed)])
    return answers


def _expiry(kind: str, state: str, now: int) -> int:
    """Return the earliest expiry that makes a write unnecessary."""
    started = state == AttemptState.STARTED.value
    stored = lease_expiry(JobKind(kind), started=started, now=now)
    return stored - SLACK_MICROS if started and not JobKind(kind).redeliverable else stored


def reconcile(
    connection: Connection, runner_id: str, held: Sequence[HeldAttempt], now: int, *, current: bool = True
) -> list[Directive]:
    """Compare a runner's journal with what is stored, at its hello; the answer names every attempt it named.

    What it no longer knows is given back if it was not started, and is lost if it was (rules 7 and 8). A hello that is
    not current (it was overtaken, or came twice) still gets its verdicts, but nothing is concluded from what it lacks.
    """
    open_here = [(row[0], row[1]) for row in _LOCK_OPEN.rows(connection, runner_id=runner_id)]
    named = {(each.job_id, each.fence): each for each in held}
    loaded = load(connection, [*open_here, *named])
    changes: list[Change] = []
    directives: list[Directive] = []
    renewed: list[tuple[int, str, int]] = []
    for reference in open_here:
        if current and reference not in named:
            change = decide(loaded[reference], lapse(loaded[reference].job), now)
            changes += [change] if isinstance(change, Change) else []
    for reference, each in named.items():
        verdict, change = _verdict(loaded.get(reference), runner_id, each, now)
        if not current and verdict.action == "abandon":
            change = None
        directives.append(verdict)
        changes += [change] if change is not None else []
        if verdict.action != "abandon" and change is None and reference in open_here:
            job = loaded[reference].job
            started = job.state is not JobState.CLAIMED
            renewed.append((lease_expiry(job.kind, started=started, now=now), *reference))
    _RENEW.run(connection, renewed)
    write(connection, changes, now)
    return directives


def _verdict(held: Loaded | None, runner_id: str, named: HeldAttempt, now: int) -> tuple[Directive, Change | None]:
    abandon = Directive(named.job_id, named.fence, "abandon", "the attempt is not this runner's")
    go_on = Directive(named.job_id, named.fence, "continue")
    if held is None or held.attempt is None or held.attempt.runner_id != runner_id:
        return abandon, None
    if not held.held_by(runner_id):
        # A result whose acknowledgement was lost is sent again and acknowledged again.
        acknowledged = named.phase == "finished" and held.attempt.finish_key is not None
        return (go_on if acknowledged else abandon), None
    started = held.attempt.state is AttemptState.STARTED
    if started and named.phase == "claimed":
        # A grant exists that the runner never asked for: its journal was lost, so nobody knows what was executed.
        change = decide(held, lapse(held.job), now)
        return abandon, change if isinstance(change, Change) else None
    if not started and named.phase in ("granted", "finished"):
        # The database lost the grant (a restored backup); the runner acted on it, so it stands.
        change = decide(held, JobEvent.START, now, key=_RECONCILED_KEY)
        return go_on, change if isinstance(change, Change) else None
    return directive(held) or go_on, None


def directive(held: Loaded) -> Directive | None:
    """Return what the holder should be told about the job's present state, if anything."""
    if held.job.state is JobState.CANCELLING:
        return Directive(held.job.id, held.fence, "cancel", held.cancel_reason or "")
    return None


def open_attempts(connection: Connection, runner_id: str) -> list[LeaseRef]:
    """Return what the runner holds."""
    return [LeaseRef(row[0], row[1]) for row in _OPEN.rows(connection, runner_id=runner_id)]


def give_back(connection: Connection, runner_id: str, now: int) -> int:
    """Give back every claim of a runner that was not started, because it leaves; return how many."""
    loaded = load(connection, [(row[0], row[1]) for row in _LOCK_OPEN.rows(connection, runner_id=runner_id)])
    changes = [
        change
        for held in loaded.values()
        if held.job.state is JobState.CLAIMED and isinstance(change := decide(held, JobEvent.RELEASE, now), Change)
    ]
    write(connection, changes, now)
    return len(changes)


def refusal(held: Loaded | None, runner_id: str, job_id: str, fence: int) -> Refused:
    """Why a runner may not write to an attempt that it does not hold."""
    if held is None or held.attempt is None or held.attempt.runner_id != runner_id:
        return _stale(job_id, fence)
    return _not_held(held)


def _stale(job_id: str, fence: int) -> Refused:
    return Refused("stale_fence", f"attempt {fence} of {job_id} is not held by this runner")


def _started_already() -> Refused:
    return Refused("job_started", "the attempt was granted under another key and is never granted again")


def _ended(state: JobState) -> Refused:
    return Refused("job_ended", f"the job has already ended as {state.value}")


def _not_held(held: Loaded) -> Refused:
    """Why an attempt that once was this runner's takes no more writes."""
    if held.current and held.job.state in ENDED_JOB:
        return _ended(held.job.state)
    return _stale(held.job.id, held.fence)
