"""What must be done now. Whoever drives a run carries it out, at least once, and tells what came of it."""

from typing import Literal, TypeAlias

import msgspec

from ostler.protocol.v1.program import JobProgram

Conclusion: TypeAlias = Literal["success", "failure", "cancelled", "skipped"]
Queue: TypeAlias = Literal["single", "max"]
Permissions: TypeAlias = dict[str, str] | None
"""What the job's token may do, by scope; None where nothing is said: the default of whoever issues it."""


class StartedJob(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A job that may start, with all that was settled by expressions before a runner has it."""

    name: str
    """As people see it, with the names of those who called it."""
    program: JobProgram
    labels: tuple[str, ...] = ()
    group: str = ""
    """A group of runners, such as a pool; nothing means any."""
    timeout_ms: int
    cancel_timeout_ms: int
    secrets: tuple[str, ...] = ()
    """Names of the run's secrets that ``secret_values`` needs for this job."""
    continue_on_error: bool = False
    environment: str = ""
    environment_url: str = ""
    """As written: the runner renders it when the steps are done."""
    recorded: bool = True
    """Whether a deployment to the environment is recorded."""
    permissions: Permissions = None


class StartJob(msgspec.Struct, frozen=True, tag="start_job"):
    """Give this job to a runner."""

    node: str
    job: StartedJob


class CancelJob(msgspec.Struct, frozen=True, omit_defaults=True, tag="cancel_job"):
    """End this job; with ``force``, at once. Its end is told as of any other."""

    node: str
    reason: str = ""
    force: bool = False


class JoinGroup(msgspec.Struct, frozen=True, omit_defaults=True, tag="join_group"):
    """Ask for a concurrency group; the answer is that it is granted or denied."""

    holder: str
    group: str
    cancel_in_progress: bool = False
    queue: Queue = "single"


class LeaveGroup(msgspec.Struct, frozen=True, tag="leave_group"):
    """A holder needs its concurrency group no more, or does not wait for it any longer."""

    holder: str
    group: str


class RunEnded(msgspec.Struct, frozen=True, omit_defaults=True, tag="run_ended"):
    """Nothing will happen any more."""

    conclusion: Conclusion
    note: str = ""


Effect: TypeAlias = StartJob | CancelJob | JoinGroup | LeaveGroup | RunEnded
