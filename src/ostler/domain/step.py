"""The step: one command inside a job, as reported by the runner that executes it."""

from enum import StrEnum

from ostler.domain.machine import Machine


class StepState(StrEnum):
    """Where a step stands."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class StepEvent(StrEnum):
    """What can happen to a step."""

    BEGIN = "begin"
    SUCCEED = "succeed"
    FAIL = "fail"
    STOP = "stop"
    SKIP = "skip"


_S, _E = StepState, StepEvent

STEP_MACHINE = Machine(
    "step",
    _S.PENDING,
    frozenset({_S.SUCCEEDED, _S.FAILED, _S.CANCELLED, _S.SKIPPED}),
    {
        (_S.PENDING, _E.BEGIN): _S.RUNNING,
        (_S.PENDING, _E.SKIP): _S.SKIPPED,
        (_S.RUNNING, _E.SUCCEED): _S.SUCCEEDED,
        (_S.RUNNING, _E.FAIL): _S.FAILED,
        (_S.RUNNING, _E.STOP): _S.CANCELLED,
    },
)
