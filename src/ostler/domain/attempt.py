"""The attempt: one execution of a job. Its number is the fence, and its history is kept when the job runs again."""

from enum import StrEnum

from ostler.domain.machine import Machine


class AttemptState(StrEnum):
    """Where an attempt stands."""

    CLAIMED = "claimed"
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"
    RELEASED = "released"


class AttemptEvent(StrEnum):
    """What can happen to an attempt."""

    START = "start"
    SUCCEED = "succeed"
    FAIL = "fail"
    STOP = "stop"
    LOSE = "lose"
    RELEASE = "release"


_S, _E = AttemptState, AttemptEvent

ATTEMPT_MACHINE = Machine(
    "attempt",
    _S.CLAIMED,
    frozenset({_S.SUCCEEDED, _S.FAILED, _S.CANCELLED, _S.LOST, _S.RELEASED}),
    {
        (_S.CLAIMED, _E.START): _S.STARTED,
        (_S.CLAIMED, _E.RELEASE): _S.RELEASED,
        (_S.CLAIMED, _E.STOP): _S.CANCELLED,
        (_S.CLAIMED, _E.FAIL): _S.FAILED,
        (_S.STARTED, _E.SUCCEED): _S.SUCCEEDED,
        (_S.STARTED, _E.FAIL): _S.FAILED,
        (_S.STARTED, _E.STOP): _S.CANCELLED,
        (_S.STARTED, _E.LOSE): _S.LOST,
    },
)
