"""The messages between an agent and the control plane.

Durations only, never timestamps: the two clocks need not agree. After a claim every message carries the fence.
"""

from typing import Annotated, Literal

import msgspec

from ostler.domain.cause import Failure
from ostler.domain.job import JobKind, Slot
from ostler.domain.step import StepState
from ostler.protocol.v1.spec import LARGEST, Count, Environment, Integer, JobSpec, Label, Labels, Name

Key = Annotated[str, msgspec.Meta(min_length=8, max_length=80)]
WaitMs = Annotated[int, msgspec.Meta(ge=0, le=60_000)]

PROTOCOL_VERSION = 1
AUDIENCE = "ostler"
"""Whom a runner's assertions are for, beside the address that it knows the server by."""


class SystemInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """The machine that a runner lives on."""

    os: str = ""
    kernel: str = ""
    architecture: str = ""
    hostname: str = ""
    cpus: Count = 0
    memory_bytes: Count = 0
    disk_bytes: Count = 0


class EnrolRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A new runner presents a registration token and its own public key (raw Ed25519, base64url)."""

    registration_token: Annotated[str, msgspec.Meta(max_length=4096)]
    name: Name
    public_key: Annotated[str, msgspec.Meta(min_length=43, max_length=43)]
    key: Key
    description: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    labels: Labels = []
    version: str = ""
    system: SystemInfo = SystemInfo()


class EnrolReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who the runner is from now on."""

    runner_id: str
    pool_id: str
    pool_name: str


class TokenRequest(msgspec.Struct, frozen=True):
    """A JWT signed with the runner's key (``iss`` = ``sub`` = runner id, ``aud`` = the server, ``jti``, ``exp``)."""

    assertion: Annotated[str, msgspec.Meta(max_length=4096)]


class TokenReply(msgspec.Struct, frozen=True):
    """A short-lived access token."""

    access_token: str
    expires_in_ms: int


class LeaseRef(msgspec.Struct, frozen=True):
    """An attempt that the runner holds."""

    job_id: str
    fence: Count


Phase = Literal["claimed", "starting", "granted", "finished"]


class HeldAttempt(msgspec.Struct, frozen=True):
    """An attempt in the runner's journal and how far it had come."""

    job_id: str
    fence: Count
    phase: Phase


class Directive(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the runner must do with an attempt: go on, cancel it, or abandon it (kill it and report nothing)."""

    job_id: str
    fence: Count
    action: Literal["continue", "cancel", "abandon"]
    reason: str = ""


class HelloRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Sent at each connection: who I am, what I can do, what I still hold.

    ``sequence`` grows from one hello of a runner to the next, over its restarts too. A hello that arrives late or twice
    tells of a past in which the runner did not hold what it has begun since.
    """

    protocol: Integer
    version: str
    capabilities: list[str] = []
    tools: dict[str, str] = {}
    labels: list[Label] = []
    job_kinds: list[JobKind] = []
    environment: list[str] = []
    isolation: str = "process"
    system: SystemInfo = SystemInfo()
    held: list[HeldAttempt] = []
    sequence: Count = 0


class RunnerSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the server asks of its runners."""

    heartbeat_ms: int
    hold_ms: int
    log_chunk_bytes: int


class HelloReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The server's side of the exchange, with a verdict on every attempt that the runner named."""

    protocol: int
    server_version: str
    settings: RunnerSettings
    capabilities: list[str] = []
    directives: list[Directive] = []


class ClaimRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A held poll: answered the moment there is work for a free slot or a directive for a held attempt.

    A repeated ``key`` gets the same claims again: a lost reply loses no job.
    """

    key: Key
    slots: Annotated[list[Slot], msgspec.Meta(max_length=2)] = []
    wait_ms: WaitMs = 0
    leases: Annotated[list[LeaseRef], msgspec.Meta(max_length=16)] = []


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """One job, leased to the runner until it starts, renews or lets go."""

    job_id: str
    run_id: str
    fence: Count
    kind: JobKind
    slot: Slot
    lease_ms: int
    spec: JobSpec


class ClaimReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """Work, directives, both or neither. ``retry_after_ms`` is set only if the server cannot hold polls now."""

    claims: list[Claim] = []
    directives: list[Directive] = []
    retry_after_ms: int | None = None


class StartRequest(msgspec.Struct, frozen=True):
    """Ask for the durable grant without which nothing may be executed."""

    job_id: str
    fence: Count
    key: Key


class StartReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The grant. It stands even if this reply is lost.

    ``job_token`` is for the job itself: it opens what is below ``/job/v1`` for as long as the attempt goes on.
    """

    directive: Directive | None = None
    job_token: str = ""


class ReleaseRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Give a claim back before its start."""

    job_id: str
    fence: Count
    reason: str = ""


class Metrics(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the runner's machine is doing."""

    cpu_percent: float = 0.0
    memory_used_bytes: Count = 0
    disk_free_bytes: Count = 0
    load: float = 0.0


class HeartbeatRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Renews every lease at once. ``error`` puts the runner into the error state; an empty one takes it out."""

    leases: Annotated[list[LeaseRef], msgspec.Meta(max_length=16)] = []
    metrics: Metrics = Metrics()
    error: str = ""


class HeartbeatReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A directive for every lease that should not simply go on."""

    directives: list[Directive] = []


class Annotation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A remark of a step about its work, mostly about a place in a file; 0 where no line or column is known."""

    level: Literal["notice", "warning", "error"]
    message: str
    title: str = ""
    file: str = ""
    line: Count = 0
    end_line: Count = 0
    column: Count = 0
    end_column: Count = 0


class StepReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a step. ``sequence`` grows by one per job; ``age_ms`` is how long ago it happened.

    ``annotations`` are those since the last report.
    """

    sequence: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
    step: Count
    name: str
    state: StepState
    age_ms: Count = 0
    duration_ms: Count | None = None
    exit_code: Integer | None = None
    signal: Integer | None = None
    first_line: Count | None = None
    last_line: Count | None = None
    cpu_ms: Count | None = None
    max_memory_bytes: Count | None = None
    outcome: StepState | None = None
    """The end before ``continue-on-error`` was looked at, of a step of a workflow."""
    annotations: list[Annotation] = []
    annotations_left_out: Count = 0
    """How many more there were than are kept of one step."""
    summary: str = ""
    """What the step wrote for people, as Markdown."""


class EventsRequest(msgspec.Struct, frozen=True):
    """Reports in order of their sequence; those already known are ignored."""

    job_id: str
    fence: Count
    events: Annotated[list[StepReport], msgspec.Meta(max_length=1000)]


class EventsReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The highest sequence that is stored."""

    stored: int
    directive: Directive | None = None


class LogQuery(msgspec.Struct, frozen=True):
    """Where the frames in the body belong: the offset counts uncompressed bytes of text."""

    fence: Count
    offset: Count


class LogReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """How much of the log is stored now."""

    length: int
    directive: Directive | None = None


class FinishRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of an attempt, sent until acknowledged; may carry the next poll so that both share a commit.

    What was not sent yet may come along if it is little: the last ``events``, and ``log``, the frames that complete
    the log from ``log_offset`` on. A short job then costs a start and a finish.
    """

    job_id: str
    fence: Count
    key: Key
    conclusion: Literal["succeeded", "failed", "cancelled"]
    log_bytes: Count
    log_lines: Count
    failure: Failure | None = None
    exit_code: Integer | None = None
    duration_ms: Count | None = None
    next: ClaimRequest | None = None
    events: Annotated[list[StepReport], msgspec.Meta(max_length=1000)] = []
    log: bytes = b""
    log_offset: Count = 0
    outputs: dict[str, str] = {}
    """What a job of a workflow hands to the jobs that need it."""
    environment_url: str = ""
    """Where people find what the job deployed."""


class FinishReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the job's state is now, and the answer to the next poll if one was carried."""

    state: str
    next: ClaimReply | None = None


class ByeRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """The runner leaves on purpose: it is offline at once, and unstarted claims go back."""

    reason: str = ""


class EnvironmentPairs(msgspec.Struct, frozen=True):
    """Explicit pairs that a runner adds to every job (rule 17)."""

    values: Environment = {}
