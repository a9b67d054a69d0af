"""States, causes and reasons in the words of the pages, so that every page says the same thing the same way."""

from collections.abc import Sequence
from typing import Final

from ostler.domain.cause import Cause, Failure
from ostler.domain.job import JobState
from ostler.domain.pool import PoolStatus
from ostler.domain.run import RunState
from ostler.domain.runner import Admission, RunnerStatus
from ostler.domain.step import StepState
from ostler.protocol.v1.fleet_messages import RunnerView
from ostler.protocol.v1.run_messages import StepView
from ostler.server.pages.views import Problem, Status
from ostler.workflow.run.state import NodeState

RUN: Final = {
    RunState.QUEUED: Status("waiting", "Queued"),
    RunState.RUNNING: Status("running", "Running"),
    RunState.CANCELLING: Status("attention", "Cancelling"),
    RunState.SUCCEEDED: Status("ok", "Succeeded"),
    RunState.FAILED: Status("failed", "Failed"),
    RunState.CANCELLED: Status("cancelled", "Cancelled"),
}
JOB: Final = {
    JobState.QUEUED: Status("waiting", "Queued"),
    JobState.CLAIMED: Status("setup", "Starting"),
    JobState.RUNNING: Status("running", "Running"),
    JobState.CANCELLING: Status("attention", "Cancelling"),
    JobState.SUCCEEDED: Status("ok", "Succeeded"),
    JobState.FAILED: Status("failed", "Failed"),
    JobState.CANCELLED: Status("cancelled", "Cancelled"),
}
STEP: Final = {
    StepState.PENDING: Status("waiting", "Pending"),
    StepState.RUNNING: Status("running", "Running"),
    StepState.SUCCEEDED: Status("ok", "Succeeded"),
    StepState.FAILED: Status("failed", "Failed"),
    StepState.CANCELLED: Status("cancelled", "Cancelled"),
    StepState.SKIPPED: Status("skipped", "Skipped"),
}
NODE: Final = {
    NodeState.WAITING: Status("waiting", "Waiting"),
    NodeState.PENDING: Status("waiting", "Pending"),
    NodeState.QUEUED: Status("waiting", "Queued"),
    NodeState.RUNNING: Status("running", "Running"),
    NodeState.CANCELLING: Status("attention", "Cancelling"),
}
CONCLUSION: Final = {
    "success": Status("ok", "Succeeded"),
    "failure": Status("failed", "Failed"),
    "cancelled": Status("cancelled", "Cancelled"),
    "skipped": Status("skipped", "Skipped"),
}
POOL: Final = {
    PoolStatus.INACTIVE: Status("idle", "Inactive"),
    PoolStatus.HEALTHY: Status("ok", "Healthy"),
    PoolStatus.OFFLINE: Status("failed", "Offline"),
    PoolStatus.DISABLED: Status("off", "Disabled"),
}
_RUNNER = {
    RunnerStatus.OFFLINE: Status("off", "Offline"),
    RunnerStatus.IDLE: Status("idle", "Idle"),
    RunnerStatus.BUSY: Status("running", "Busy"),
    RunnerStatus.ERROR: Status("failed", "Error"),
    RunnerStatus.RETIRED: Status("off", "Retired"),
}
_ADMISSION = {
    Admission.PAUSED: Status("attention", "Paused"),
    Admission.DRAINING: Status("attention", "Draining"),
    Admission.DISABLED: Status("off", "Disabled"),
    Admission.QUARANTINED: Status("attention", "Quarantined"),
    Admission.REVOKED: Status("failed", "Revoked"),
}
_TITLES = {
    Cause.STEP_FAILED: "A step failed.",
    Cause.TIMED_OUT: "It took longer than it may.",
    Cause.CANCELLED: "It was cancelled.",
    Cause.RUNNER_LOST: "Its runner was lost.",
    Cause.INFRASTRUCTURE: "The machinery failed, not the job.",
    Cause.POLICY_DENIED: "A policy forbids it.",
    Cause.CONFIGURATION: "The job cannot be run as it is written.",
}
_FIXES = {
    Cause.STEP_FAILED: "The last lines of its log say why.",
    Cause.TIMED_OUT: "Give it more time, or see in the log what it waited for.",
    Cause.CANCELLED: "",
    Cause.RUNNER_LOST: "See on the runner's page whether its machine is up, then run the job again.",
    Cause.INFRASTRUCTURE: "Put right what is named, then run the job again.",
    Cause.POLICY_DENIED: "Ask whoever owns the policy that is named.",
    Cause.CONFIGURATION: "Correct what is named and submit it again.",
}


def runner(view: RunnerView) -> Status:
    """How a runner is: what people decided about it first, unless it is not even there."""
    gone = view.status in (RunnerStatus.OFFLINE, RunnerStatus.RETIRED)
    if gone or view.admission is Admission.ACTIVE:
        return _RUNNER[view.status]
    return _ADMISSION[view.admission]


def short_failure(failure: Failure) -> str:
    """Why a run failed, in the line of a list."""
    told = failure.evidence or failure.detail.replace("_", " ")
    return f"{_TITLES[failure.cause]} {_sentence(told)}" if told else _TITLES[failure.cause]


def failure_problem(failure: Failure, steps: Sequence[StepView]) -> Problem:
    """Why a job failed, with what mends it."""
    failed = next((step for step in steps if step.state is StepState.FAILED), None)
    causes: list[str] = []
    if failure.evidence:
        causes.append(_sentence(failure.evidence))
    elif failed is not None and failed.exit_code is not None:
        causes.append(f"{failed.name} exited with {failed.exit_code}.")
    elif failed is not None and failed.signal is not None:
        causes.append(f"{failed.name} was ended by signal {failed.signal}.")
    if failure.detail:
        causes.append(_sentence(failure.detail.replace("_", " ")))
    return Problem(_TITLES[failure.cause], " ".join(causes), _FIXES[failure.cause], failure.cause.value)


def _sentence(text: str) -> str:
    ended = text if text.endswith((".", "!", "?")) else f"{text}."
    return ended[:1].upper() + ended[1:]
