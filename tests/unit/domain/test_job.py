"""Jobs through every order of events: one end, fences that grow, and no second delivery of what must not have one."""

from hypothesis import given, strategies as some

from ostler.domain.cause import Cause, Failure
from ostler.domain.ids import JobId, RunId, RunnerId
from ostler.domain.job import Applied, Effect, Job, JobEvent, JobKind, JobState, Slot, apply, lapse
from ostler.domain.lease import expired, expiry
from ostler.domain.machine import Refused
from ostler.domain.run import RunState, reduce

ENDED = (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)
kinds = some.sampled_from(JobKind)
events = some.lists(some.sampled_from(JobEvent), max_size=30)


def queued(kind: JobKind) -> Job:
    return Job(id=JobId("job_1"), run_id=RunId("run_1"), kind=kind)


@given(kinds, events)
def test_any_order_of_events_keeps_the_rules(kind: JobKind, happening: list[JobEvent]) -> None:
    job = queued(kind)
    grants = 0
    for now, event in enumerate(happening):
        outcome = apply(job, event, now, runner_id=RunnerId("rnr_1"))
        if isinstance(outcome, Refused):
            assert outcome.code
            continue
        after = outcome.job
        assert job.state not in ENDED, "an end is an end"
        assert after.fence == job.fence + (event is JobEvent.CLAIM)
        assert (after.finished_at is not None) == (after.state in ENDED)
        assert (after.failure is None) == (after.state not in (JobState.FAILED, JobState.CANCELLED))
        grants += event is JobEvent.START
        if after.state is not job.state and after.state not in (JobState.CLAIMED, JobState.QUEUED):
            assert Effect.REDUCE_RUN in outcome.effects
        job = after
    assert grants <= 1 or kind.redeliverable, "what is never delivered again is granted once"


@given(kinds, events, some.integers(0, 30))
def test_a_lapse_is_always_possible_while_someone_holds_the_job(
    kind: JobKind, happening: list[JobEvent], now: int
) -> None:
    job = queued(kind)
    for event in happening:
        outcome = apply(job, event, now, runner_id=RunnerId("rnr_1"))
        job = outcome.job if isinstance(outcome, Applied) else job
    if job.state in (JobState.CLAIMED, JobState.RUNNING, JobState.CANCELLING):
        outcome = apply(job, lapse(job), now)
        assert isinstance(outcome, Applied)
        started = job.state is not JobState.CLAIMED
        if outcome.job.state is JobState.QUEUED:
            assert kind.redeliverable or not started
            assert outcome.job.runner_id is None
            assert Effect.WAKE_POOL in outcome.effects
        else:
            assert started


def test_causes_follow_the_event_unless_evidence_is_given() -> None:
    running = apply_all(queued(JobKind.CI), JobEvent.CLAIM, JobEvent.START)
    lost = apply(running, JobEvent.LOSE, 1)
    assert isinstance(lost, Applied)
    assert lost.job.failure == Failure(Cause.RUNNER_LOST)
    full = Failure(Cause.INFRASTRUCTURE, "disk_full")
    failed = apply(running, JobEvent.FAIL, 1, failure=full)
    assert isinstance(failed, Applied)
    assert failed.job.failure == full
    fine = apply(running, JobEvent.SUCCEED, 1, failure=full)
    assert isinstance(fine, Applied)
    assert fine.job.failure is None


def apply_all(job: Job, *happening: JobEvent) -> Job:
    for event in happening:
        outcome = apply(job, event, 0, runner_id=RunnerId("rnr_1"))
        assert isinstance(outcome, Applied)
        job = outcome.job
    return job


def test_slots_follow_the_kind() -> None:
    assert {kind for kind in JobKind if kind.slot is Slot.AUXILIARY} == {
        JobKind.INSIGHTS_SCAN,
        JobKind.POLICY_EVALUATION,
    }


@given(kinds, some.booleans(), some.integers(0, 2**60))
def test_the_instant_of_expiry_belongs_to_the_holder(kind: JobKind, started: bool, now: int) -> None:
    end = expiry(kind, started=started, now=now)
    assert end > now
    assert not expired(end, end)
    assert expired(end, end + 1)


@given(some.lists(some.sampled_from(JobState), min_size=1))
def test_a_run_has_ended_when_all_its_jobs_have(states: list[JobState]) -> None:
    state = reduce(states)
    assert (state.value in {ended.value for ended in ENDED}) == all(each in ENDED for each in states)
    assert reduce(list(reversed(states))) is state
    if len(states) == 1:
        solo = RunState.QUEUED if states[0] is JobState.CLAIMED else RunState(states[0].value)
        assert state is solo
