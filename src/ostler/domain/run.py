"""The run: what a user sees. Its state follows from its jobs and is never set by hand, except to ask for a cancel."""

from collections.abc import Iterable
from enum import StrEnum

from ostler.domain.job import JobState
from ostler.domain.machine import Machine


class RunState(StrEnum):
    """Where a run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RunEvent(StrEnum):
    """What can happen to a run."""

    BEGIN = "begin"
    REQUEUE = "requeue"
    CANCEL = "cancel"
    SUCCEED = "succeed"
    FAIL = "fail"
    STOP = "stop"


_S, _E = RunState, RunEvent

RUN_MACHINE = Machine(
    "run",
    _S.QUEUED,
    frozenset({_S.SUCCEEDED, _S.FAILED, _S.CANCELLED}),
    {
        (_S.QUEUED, _E.BEGIN): _S.RUNNING,
        (_S.QUEUED, _E.CANCEL): _S.CANCELLING,
        (_S.QUEUED, _E.STOP): _S.CANCELLED,
        (_S.QUEUED, _E.FAIL): _S.FAILED,
        (_S.QUEUED, _E.SUCCEED): _S.SUCCEEDED,
        (_S.RUNNING, _E.REQUEUE): _S.QUEUED,
        (_S.RUNNING, _E.CANCEL): _S.CANCELLING,
        (_S.RUNNING, _E.SUCCEED): _S.SUCCEEDED,
        (_S.RUNNING, _E.FAIL): _S.FAILED,
        (_S.RUNNING, _E.STOP): _S.CANCELLED,
        (_S.CANCELLING, _E.SUCCEED): _S.SUCCEEDED,
        (_S.CANCELLING, _E.FAIL): _S.FAILED,
        (_S.CANCELLING, _E.STOP): _S.CANCELLED,
    },
)

_ENDED = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})


def reduce(states: Iterable[JobState]) -> RunState:
    """Return the state of a run whose jobs are in these states."""
    jobs = list(states)
    if all(state in _ENDED for state in jobs):
        if JobState.FAILED in jobs:
            return RunState.FAILED
        return RunState.CANCELLED if JobState.CANCELLED in jobs else RunState.SUCCEEDED
    if JobState.CANCELLING in jobs:
        return RunState.CANCELLING
    if all(state in (JobState.QUEUED, JobState.CLAIMED) for state in jobs):
        return RunState.QUEUED
    return RunState.RUNNING
