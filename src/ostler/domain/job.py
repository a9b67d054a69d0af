"""The job: the unit that one runner claims and executes without a break.

Rules 7 and 8 of the model live in this table. A *claim* can be taken back; a *start* is a durable grant. What happens
to a job whose runner falls silent depends on its kind and on whether it was started, which is why ``lapse`` decides
between the events ``release`` and ``lose`` instead of the caller.
"""

from enum import StrEnum

import msgspec

from ostler.domain.cause import Cause, Failure
from ostler.domain.ids import Fence, JobId, RunId, RunnerId
from ostler.domain.machine import Machine, Refused


class JobKind(StrEnum):
    """What a job does; decides its slot and its recovery."""

    CI = "ci"
    DEPLOYMENT = "deployment"
    INSIGHTS_SCAN = "insights_scan"
    POLICY_EVALUATION = "policy_evaluation"

    @property
    def slot(self) -> "Slot":
        """The slot of a runner that this kind occupies (rule 6)."""
        return Slot.AUXILIARY if self in _LEASE_KINDS else Slot.PRIMARY

    @property
    def redeliverable(self) -> bool:
        """Whether a started job may run again elsewhere when its lease lapses (rule 8)."""
        return self in _LEASE_KINDS


class Slot(StrEnum):
    """A runner has one of each, the second only if it serves scans or evaluations."""

    PRIMARY = "primary"
    AUXILIARY = "auxiliary"


_LEASE_KINDS = frozenset({JobKind.INSIGHTS_SCAN, JobKind.POLICY_EVALUATION})


class JobState(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class JobEvent(StrEnum):
    """What can happen to a job."""

    CLAIM = "claim"
    START = "start"
    RELEASE = "release"
    CANCEL = "cancel"
    SUCCEED = "succeed"
    FAIL = "fail"
    STOP = "stop"
    LOSE = "lose"


_S, _E = JobState, JobEvent

JOB_MACHINE = Machine(
    "job",
    _S.QUEUED,
    frozenset({_S.SUCCEEDED, _S.FAILED, _S.CANCELLED}),
    {
        (_S.QUEUED, _E.CLAIM): _S.CLAIMED,
        (_S.QUEUED, _E.CANCEL): _S.CANCELLED,
        (_S.CLAIMED, _E.START): _S.RUNNING,
        (_S.CLAIMED, _E.RELEASE): _S.QUEUED,
        (_S.CLAIMED, _E.CANCEL): _S.CANCELLED,
        (_S.CLAIMED, _E.FAIL): _S.FAILED,
        (_S.RUNNING, _E.SUCCEED): _S.SUCCEEDED,
        (_S.RUNNING, _E.FAIL): _S.FAILED,
        (_S.RUNNING, _E.STOP): _S.CANCELLED,
        (_S.RUNNING, _E.LOSE): _S.FAILED,
        (_S.RUNNING, _E.RELEASE): _S.QUEUED,
        (_S.RUNNING, _E.CANCEL): _S.CANCELLING,
        (_S.CANCELLING, _E.CANCEL): _S.CANCELLING,
        (_S.CANCELLING, _E.SUCCEED): _S.SUCCEEDED,
        (_S.CANCELLING, _E.FAIL): _S.FAILED,
        (_S.CANCELLING, _E.STOP): _S.CANCELLED,
        (_S.CANCELLING, _E.LOSE): _S.CANCELLED,
    },
)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What the state machine needs to know of a job; the rest of its row is the store's business."""

    id: JobId
    run_id: RunId
    kind: JobKind
    state: JobState = JobState.QUEUED
    fence: Fence = Fence(0)
    runner_id: RunnerId | None = None
    failure: Failure | None = None
    started_at: int | None = None
    finished_at: int | None = None


class Effect(StrEnum):
    """What must follow a transition; written to the outbox in the same transaction."""

    WAKE_POOL = "wake_pool"
    TELL_RUNNER = "tell_runner"
    SEAL_LOG = "seal_log"
    REDUCE_RUN = "reduce_run"


class Applied(msgspec.Struct, frozen=True):
    """The job as it became, and the effects that must follow."""

    job: Job
    effects: tuple[Effect, ...] = ()


def apply(
    job: Job,
    event: JobEvent,
    now: int,
    *,
    runner_id: RunnerId | None = None,
    failure: Failure | None = None,
) -> Applied | Refused:
    """Return what ``event`` makes of ``job`` at time ``now``, or why it cannot happen."""
    if event is JobEvent.RELEASE and job.state is JobState.RUNNING and not job.kind.redeliverable:
        return Refused("job_started", f"a started {job.kind.value} job is never delivered again")
    state = JOB_MACHINE.after(job.state, event)
    if isinstance(state, Refused):
        return state
    if state is job.state:
        return Applied(job)
    changed = msgspec.structs.replace(job, state=state)
    if event is JobEvent.CLAIM:
        return Applied(msgspec.structs.replace(changed, fence=Fence(job.fence + 1), runner_id=runner_id))
    if event is JobEvent.START:
        return Applied(msgspec.structs.replace(changed, started_at=now), (Effect.REDUCE_RUN,))
    if event is JobEvent.RELEASE:
        return Applied(
            msgspec.structs.replace(changed, runner_id=None, started_at=None), (Effect.SEAL_LOG, Effect.WAKE_POOL)
        )
    if state is JobState.CANCELLING:
        return Applied(changed, (Effect.TELL_RUNNER, Effect.REDUCE_RUN))
    return _ended(job, changed, event, now, failure)


def lapse(job: Job) -> JobEvent:
    """Return what the loss of a job's lease means: taken back if it may run again, lost if it may not."""
    if job.state is JobState.CLAIMED:
        return JobEvent.RELEASE
    if job.state is JobState.RUNNING and job.kind.redeliverable:
        return JobEvent.RELEASE
    return JobEvent.LOSE


def _ended(before: Job, changed: Job, event: JobEvent, now: int, failure: Failure | None) -> Applied:
    if changed.state is JobState.SUCCEEDED:
        failure = None
    elif failure is None:
        failure = Failure(_CAUSE_OF_EVENT[event])
    effects = [Effect.REDUCE_RUN]
    if before.state is not JobState.QUEUED:
        effects.append(Effect.SEAL_LOG)
    if before.state is JobState.CLAIMED:
        effects.append(Effect.TELL_RUNNER)
    return Applied(msgspec.structs.replace(changed, finished_at=now, failure=failure), tuple(effects))


_CAUSE_OF_EVENT = {
    JobEvent.FAIL: Cause.STEP_FAILED,
    JobEvent.STOP: Cause.CANCELLED,
    JobEvent.CANCEL: Cause.CANCELLED,
    JobEvent.LOSE: Cause.RUNNER_LOST,
}
