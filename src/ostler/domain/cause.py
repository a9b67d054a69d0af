"""Why a job did not succeed: "yours or ours" is decided once, where the failure is seen, and never guessed later."""

from enum import StrEnum

import msgspec


class Cause(StrEnum):
    """The classes of model rule 9."""

    STEP_FAILED = "step_failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    RUNNER_LOST = "runner_lost"
    INFRASTRUCTURE = "infrastructure"
    POLICY_DENIED = "policy_denied"
    CONFIGURATION = "configuration"


class Failure(msgspec.Struct, frozen=True):
    """A cause with its evidence. ``detail`` names the infrastructure fault (``disk_full``, ``out_of_memory`` …)."""

    cause: Cause
    detail: str = ""
    evidence: str = ""
