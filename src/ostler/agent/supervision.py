"""What the agent needs of the processes that run its jobs: start one, follow it, stop it, find it again.

The agent decides *that* a job runs and reports what happened; a supervisor runs it, keeps its log and its result on
disk, and lives on when the agent is restarted. Between the two stands this protocol: ``local_supervisors`` implements
it with real processes, the simulator with scripted ones. Nothing here knows the server, the journal or the wire.
"""

from typing import Literal, Protocol

import msgspec

from ostler.protocol.v1.program import JobProgram
from ostler.protocol.v1.runner_messages import Annotation

Conclusion = Literal["succeeded", "failed", "cancelled", "timed_out"]
Network = Literal["full", "none"]
StepConclusion = Literal["succeeded", "failed", "cancelled", "timed_out", "skipped"]


class StepOrder(msgspec.Struct, frozen=True, kw_only=True):
    """One command of a job: either ``argv``, started as it is, or a ``script`` for ``shell``.

    Shells: ``bash`` runs ``bash --noprofile --norc -eo pipefail {0}``, ``sh`` runs ``sh -e {0}``; any other text is
    split at spaces into a command line of its own, in which ``{0}`` stands for the script's file.
    """

    name: str
    argv: tuple[str, ...] = ()
    script: str = ""
    shell: str = "bash"
    env: dict[str, str] = {}
    working_directory: str = ""
    """Relative to the workspace; created if missing."""
    timeout_ms: int = 0
    """0: only the job's own limit counts."""
    always: bool = False
    """Run even after an earlier step failed or ran out of its time. Not after the job was cancelled or timed out."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a job may use; 0 means no limit. ``Capabilities`` of the executor says which of them a host can enforce."""

    memory_bytes: int = 0
    cpu_millis: int = 0
    """1000 is one core."""
    pids: int = 0
    disk_bytes: int = 0
    """Quota of the job's directory, looked at in intervals."""
    log_bytes: int = 0
    """Beyond it the log keeps its head and its tail."""


class ActionServices(msgspec.Struct, frozen=True, kw_only=True):
    """What the actions of a workflow's job find on this machine and beyond it; nothing means that there is none."""

    cache: str = ""
    """The folder in which fetched actions are kept for later jobs."""
    mirrors: tuple[str, ...] = ()
    """Where actions are fetched from: URL templates and folders, the first that has one wins."""
    real_actions: tuple[str, ...] = ()
    """Actions with a built-in version that are fetched all the same."""
    source: str = ""
    """The working tree that the built-in checkout copies, in local runs."""
    store: str = ""
    """The folder of artifacts and caches, in local runs."""
    server: str = ""
    """The server that keeps artifacts and caches otherwise."""
    token: str = ""
    """What a job shows to that server."""
    node: dict[str, str] = {}
    """The programs that run JavaScript actions, by ``node20`` and the like; the others are looked for in PATH."""
    tool_cache: str = ""
    """RUNNER_TOOL_CACHE."""
    runner_name: str = ""
    reach: dict[str, str] = {}
    """The variables by which this machine reaches others: proxies, certificates, the home with git's settings."""


class JobOrder(msgspec.Struct, frozen=True, kw_only=True):
    """All that a supervisor is told, and it is told once. It stays in memory: secrets reach no disk and no argv."""

    job_id: str
    fence: int
    steps: tuple[StepOrder, ...] = ()
    program: JobProgram | None = None
    """A workflow's job; it has steps of its own."""
    program_secrets: dict[str, str] = {}
    """What the context ``secrets`` of the program holds; no step gets them unless it asks."""
    services: ActionServices = ActionServices()
    env: dict[str, str] = {}
    """Already filtered by the runner's allowlist (model rule 17), explicit pairs included."""
    secrets: tuple[str, ...] = ()
    """Values to mask in the log."""
    timeout_ms: int = 0
    interrupt_grace_ms: int = 7_500
    """From SIGINT to SIGTERM."""
    terminate_grace_ms: int = 2_500
    """From SIGTERM to the kill of everything."""
    limits: Limits = Limits()
    isolation: str = "process"
    network: Network = "full"
    """``none``: the steps share a loopback of their own and reach nothing else."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What was consumed. Zero also means that the host cannot tell."""

    cpu_micros: int = 0
    memory_peak_bytes: int = 0


class StepEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the attempt's event file. ``seq`` counts from 1 without gaps.

    Steps of a program are numbered in the order in which they are shown: setting up, what prepares actions, the steps
    of the file, what actions do after them. ``program_step`` is the place in the file, -1 for all that is not in it.
    """

    seq: int
    kind: Literal["step_started", "step_finished"]
    at_micros: int
    step: int
    """Index into the order's steps."""
    name: str = ""
    conclusion: StepConclusion | None = None
    exit_code: int | None = None
    signal: int | None = None
    duration_ms: int = 0
    first_line: int = 0
    """1-based lines of the log that the step wrote; both 0 if it wrote none."""
    last_line: int = 0
    usage: Usage = Usage()
    program_step: int = -1
    step_id: str = ""
    background: bool = False
    """Its lines may stand between those of other steps; the frames of the log say whose each is."""
    outcome: StepConclusion | None = None
    """The end before ``continue-on-error`` was looked at, of a program's step."""
    annotations: tuple[Annotation, ...] = ()
    annotations_left_out: int = 0
    summary: str = ""
    """Markdown."""


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt ended. ``cause`` and ``detail`` follow model rule 9 and are empty after success."""

    conclusion: Conclusion
    cause: str = ""
    detail: str = ""
    """The named fault of ``infrastructure`` and ``configuration``: ``disk_full``, ``supervisor_lost`` …"""
    evidence: str = ""
    """One sentence for people: what was seen."""
    exit_code: int | None = None
    signal: int | None = None
    log_bytes: int = 0
    log_lines: int = 0
    duration_ms: int = 0
    usage: Usage = Usage()
    outputs: dict[str, str] = {}
    """What a program's job hands to the jobs that need it."""
    environment_url: str = ""
    """Where people find what the job deployed."""


class Supervisor(Protocol):
    """One attempt, running or ended. Every method but the ``async`` ones returns at once.

    What the methods return only ever grows: a log never gets shorter, an event never changes, a result stays. One
    task waits in ``changed``; the others may be called from any task of the same loop.
    """

    job_id: str
    fence: int

    async def changed(self) -> None:
        """Return when something is new since the last call: log text, an event, the result or the death.

        A change between two calls is not lost: the second call returns at once. After the result it returns at once
        only if the caller has not yet been woken for it; so stop waiting once ``result`` is there.
        """
        ...

    def events(self, after: int) -> list[StepEvent]:
        """Return the events with ``seq`` greater than ``after``, in order."""
        ...

    def log_length(self) -> int:
        """Return how many bytes of log text are in the spool."""
        ...

    def log_frames(self, offset: int, limit: int) -> bytes:
        """Return whole frames whose text begins at ``offset``, at least one if any, else about ``limit`` bytes.

        ``offset`` must be the start of a frame: 0, or what earlier frames added up to. At the end it returns ``b""``.
        """
        ...

    def result(self) -> JobResult | None:
        """Return how the attempt ended, or nothing while it runs.

        A supervisor that died without a result yields ``failed``, ``infrastructure``, ``supervisor_lost``, after its
        leftover processes were killed.
        """
        ...

    async def cancel(self, reason: str) -> None:
        """Begin the ladder SIGINT → SIGTERM → kill. Idempotent; a no-op once there is a result."""
        ...

    async def kill(self) -> None:
        """Kill everything at once. Idempotent; the result still comes."""
        ...


class Supervisors(Protocol):
    """All attempts on this machine. Used from one event loop."""

    async def launch(self, order: JobOrder) -> Supervisor:
        """Start an attempt; when this returns, a restarted agent would find it.

        Raises ``SupervisorError`` if nothing was started. The caller holds the start grant: the same attempt is never
        launched twice, and a second call for a directory that exists is refused by that error.
        """
        ...

    async def adopt(self, job_id: str, fence: int) -> Supervisor | None:
        """Take over an attempt of an earlier agent, running or ended; ``None`` if nothing tells that it ever began.

        One that began and whose supervisor died meanwhile is found with the result ``supervisor_lost``: what it ran
        before cannot be undone by calling it never begun. In both cases whatever it left running has been killed.
        """
        ...

    def found(self) -> list[tuple[str, int]]:
        """Return the attempts that have a directory here: those to adopt or to discard after a restart.

        An agent asks this first of all, so it is also when whatever takes time to start is started.
        """
        ...

    async def discard(self, job_id: str, fence: int) -> None:
        """Kill whatever is left of the attempt and delete its directory. Idempotent."""
        ...

    async def close(self) -> None:
        """Let go: idle supervisors end, running ones go on and can be adopted."""
        ...
