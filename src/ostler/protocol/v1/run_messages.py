"""The messages about runs, jobs and the queue, for people's clients."""

from typing import Annotated, Literal

import msgspec

from ostler.domain.cause import Failure
from ostler.domain.job import JobKind, JobState
from ostler.domain.run import RunState
from ostler.domain.step import StepState
from ostler.protocol.v1.spec import LARGEST, Count, Environment, Integer, JobSpec, Labels

PageSize = Annotated[int, msgspec.Meta(ge=1, le=200)]


class SubmitRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run of one job. A repeated ``key`` with the same content returns the same run."""

    spec: JobSpec
    key: Annotated[str, msgspec.Meta(max_length=80)] = ""
    kind: JobKind = JobKind.CI
    pool: str = ""
    labels: Labels = []
    runner_name: str = ""
    priority: Annotated[int, msgspec.Meta(ge=-1000, le=1000)] = 0


class SubmitManyRequest(msgspec.Struct, frozen=True):
    """Many runs in one transaction: all of them or none."""

    runs: Annotated[list[SubmitRequest], msgspec.Meta(min_length=1, max_length=10_000)]


class SubmitManyReply(msgspec.Struct, frozen=True):
    """The runs' ids, in the order given."""

    run_ids: list[str]


class StepView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A step as far as it is known."""

    index: int
    name: str
    state: StepState
    started_at: int | None = None
    finished_at: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    first_line: int | None = None
    last_line: int | None = None


class AttemptView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One execution of the job."""

    fence: int
    state: str
    runner_id: str
    runner_name: str
    claimed_at: int
    started_at: int | None = None
    finished_at: int | None = None
    log_bytes: int = 0
    log_lines: int = 0


class NearMatch(msgspec.Struct, frozen=True):
    """A runner that nearly fits, and what it lacks."""

    runner_name: str
    lacks: list[str]


class WaitReason(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a job is not running (rule 13): a stable code, the sentence, and what would start it now."""

    code: str
    sentence: str
    would_start: str = ""
    position: int | None = None
    near: list[NearMatch] = []
    estimate_ms: int | None = None


class JobView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job with its steps and attempts."""

    id: str
    run_id: str
    name: str
    kind: JobKind
    state: JobState
    pool_id: str
    pool_name: str
    labels: list[str]
    fence: int
    created_at: int
    priority: int = 0
    pool_level: str = ""
    runner_name: str = ""
    started_at: int | None = None
    finished_at: int | None = None
    timeout_ms: int | None = None
    failure: Failure | None = None
    exit_code: int | None = None
    log_bytes: int = 0
    log_lines: int = 0
    steps: list[StepView] = []
    attempts: list[AttemptView] = []
    waiting: WaitReason | None = None
    env: Environment = {}
    secret_names: list[str] = []


class RunSummary(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run as a row of a list."""

    id: str
    name: str
    state: RunState
    created_at: int
    pool_name: str
    submitted_by: str = ""
    started_at: int | None = None
    finished_at: int | None = None
    runner_name: str = ""
    failure: Failure | None = None


class RunView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run with its jobs."""

    id: str
    name: str
    state: RunState
    created_at: int
    jobs: list[JobView]
    submitted_by: str = ""
    started_at: int | None = None
    finished_at: int | None = None
    of_workflow: bool = False
    """Whether a workflow decides which jobs it has; there may be more of them until it has ended."""


class RunsQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which runs; newest first. ``cursor`` comes from the page before."""

    state: Literal["", "queued", "running", "cancelling", "succeeded", "failed", "cancelled"] = ""
    pool: str = ""
    search: Annotated[str, msgspec.Meta(max_length=200)] = ""
    cursor: str = ""
    limit: PageSize = 50


class RunsReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page of runs."""

    runs: list[RunSummary]
    next_cursor: str = ""


class CancelRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why the run is cancelled; shown in its log and history."""

    reason: Annotated[str, msgspec.Meta(max_length=500)] = ""


class QueueEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A waiting job and its reason."""

    job_id: str
    run_id: str
    name: str
    pool_name: str
    labels: list[str]
    priority: int
    created_at: int
    reason: WaitReason


class QueueQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which waiting jobs, in the order in which they will be served."""

    pool: str = ""
    cursor: str = ""
    limit: PageSize = 50


class QueueReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page of the queue and its whole depth."""

    entries: list[QueueEntry]
    depth: int
    next_cursor: str = ""


class LogLinesQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """A range of lines; lines count from 1, a negative first line counts from the end."""

    from_line: Integer = 1
    lines: Annotated[int, msgspec.Meta(ge=1, le=5000)] = 500
    attempt: Count = 0


LogLine = tuple[str, int, int]
"""Text, time in microseconds, step index."""


class LogLinesReply(msgspec.Struct, frozen=True):
    """The lines asked for and how large the log is now."""

    first_line: int
    lines: list[LogLine]
    total_lines: int
    bytes: int
    complete: bool
    attempt: int


class LogFollowQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """From where to follow; ``tail=1`` may skip ahead to stay at the newest lines."""

    offset: Count = 0
    tail: Literal[0, 1] = 0
    attempt: Count = 0


class LogSearchQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """What to look for; hits stream in the order of the log."""

    q: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    from_line: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)] = 1
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1000
    case: Literal[0, 1] = 0
    attempt: Count = 0


class LogRawQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """The whole log as text."""

    timestamps: Literal[0, 1] = 0
    download: Literal[0, 1] = 0
    attempt: Count = 0
