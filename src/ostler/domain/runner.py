"""The runner: what the control plane knows of one agent process.

Two machines, because they are two questions. *Status* is observed (is it there, is it busy, is it failing);
*admission* is decided by people (may it take work). Neither implies the other: a paused runner may be idle.
"""

from enum import StrEnum
from typing import Final

from ostler.domain.machine import Machine


class RunnerStatus(StrEnum):
    """What is observed (rule 14)."""

    OFFLINE = "offline"
    IDLE = "idle"
    BUSY = "busy"
    ERROR = "error"
    RETIRED = "retired"


class RunnerEvent(StrEnum):
    """What can be observed of a runner."""

    HELLO = "hello"
    OCCUPY = "occupy"
    VACATE = "vacate"
    FAULT = "fault"
    RECOVER = "recover"
    SILENCE = "silence"
    RETIRE = "retire"


_S, _E = RunnerStatus, RunnerEvent

RUNNER_MACHINE = Machine(
    "runner",
    _S.OFFLINE,
    frozenset({_S.RETIRED}),
    {
        (_S.OFFLINE, _E.HELLO): _S.IDLE,
        (_S.OFFLINE, _E.RETIRE): _S.RETIRED,
        (_S.IDLE, _E.HELLO): _S.IDLE,
        (_S.IDLE, _E.OCCUPY): _S.BUSY,
        (_S.IDLE, _E.FAULT): _S.ERROR,
        (_S.IDLE, _E.SILENCE): _S.OFFLINE,
        (_S.BUSY, _E.HELLO): _S.BUSY,
        (_S.BUSY, _E.VACATE): _S.IDLE,
        (_S.BUSY, _E.FAULT): _S.ERROR,
        (_S.BUSY, _E.SILENCE): _S.OFFLINE,
        (_S.ERROR, _E.HELLO): _S.IDLE,
        (_S.ERROR, _E.RECOVER): _S.IDLE,
        (_S.ERROR, _E.SILENCE): _S.OFFLINE,
    },
)


class Admission(StrEnum):
    """What people decided: the admin states of rule 14."""

    ACTIVE = "active"
    PAUSED = "paused"
    DRAINING = "draining"
    DISABLED = "disabled"
    QUARANTINED = "quarantined"
    REVOKED = "revoked"


class AdmissionEvent(StrEnum):
    """What people can decide."""

    PAUSE = "pause"
    RESUME = "resume"
    DRAIN = "drain"
    DISABLE = "disable"
    ENABLE = "enable"
    QUARANTINE = "quarantine"
    REVOKE = "revoke"


_A, _D = Admission, AdmissionEvent

ADMISSION_MACHINE = Machine(
    "admission",
    _A.ACTIVE,
    frozenset({_A.REVOKED}),
    {
        (_A.ACTIVE, _D.PAUSE): _A.PAUSED,
        (_A.ACTIVE, _D.DRAIN): _A.DRAINING,
        (_A.ACTIVE, _D.DISABLE): _A.DISABLED,
        (_A.ACTIVE, _D.QUARANTINE): _A.QUARANTINED,
        (_A.ACTIVE, _D.REVOKE): _A.REVOKED,
        (_A.ACTIVE, _D.RESUME): _A.ACTIVE,
        (_A.PAUSED, _D.PAUSE): _A.PAUSED,
        (_A.PAUSED, _D.RESUME): _A.ACTIVE,
        (_A.PAUSED, _D.DRAIN): _A.DRAINING,
        (_A.PAUSED, _D.DISABLE): _A.DISABLED,
        (_A.PAUSED, _D.QUARANTINE): _A.QUARANTINED,
        (_A.PAUSED, _D.REVOKE): _A.REVOKED,
        (_A.DRAINING, _D.DRAIN): _A.DRAINING,
        (_A.DRAINING, _D.RESUME): _A.ACTIVE,
        (_A.DRAINING, _D.DISABLE): _A.DISABLED,
        (_A.DRAINING, _D.QUARANTINE): _A.QUARANTINED,
        (_A.DRAINING, _D.REVOKE): _A.REVOKED,
        (_A.DISABLED, _D.DISABLE): _A.DISABLED,
        (_A.DISABLED, _D.ENABLE): _A.ACTIVE,
        (_A.DISABLED, _D.QUARANTINE): _A.QUARANTINED,
        (_A.DISABLED, _D.REVOKE): _A.REVOKED,
        (_A.QUARANTINED, _D.QUARANTINE): _A.QUARANTINED,
        (_A.QUARANTINED, _D.ENABLE): _A.ACTIVE,
        (_A.QUARANTINED, _D.REVOKE): _A.REVOKED,
    },
)

SILENT_AFTER_SECONDS: Final = 40
"""A runner without a heartbeat for this long is offline: four heartbeats were missed."""

RETIRED_AFTER_SECONDS: Final = 90 * 60
"""An offline runner leaves the lists after this long (rule 15: one to two hours); history keeps it."""
