"""What a job needs of whoever drives it: processes, a log, masks, reports. A supervisor implements it, and tests do."""

from collections.abc import Coroutine, Mapping
from typing import Literal, NamedTuple, Protocol, TypeVar

import msgspec

from ostler.actions.engine.output import Output
from ostler.actions.engine.turns import Task
from ostler.protocol.v1.runner_messages import Annotation

T = TypeVar("T")

Outcome = Literal["succeeded", "failed", "cancelled", "skipped"]
Stop = Literal["", "timed_out", "cancelled"]


class Command(NamedTuple):
    """One program to run; nothing of the environment is inherited."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    directory: str


class Ending(NamedTuple):
    """How a program ended."""

    code: int | None
    signal: int | None = None
    fault: str = ""
    """Why it could not be started at all."""


class Leash:
    """What may be stopped as a whole: a step with everything that it runs.

    A stop is asked for once and stays: whatever is started on a stopped leash ends at once.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        """The step, as the log and the events count."""
        self.stop: Stop = ""


class Layout(NamedTuple):
    """The folders of the job."""

    workspace: str
    temp: str
    home: str
    files: str
    """Scripts and the files through which steps talk; nobody else's."""
    tool_cache: str


class Host(NamedTuple):
    """The machine as the context ``runner`` names it."""

    name: str
    os: str
    arch: str


class StepNews(msgspec.Struct, frozen=True, kw_only=True):
    """What the driver reports of a step besides what it knows itself."""

    number: int
    name: str
    program_step: int = -1
    step_id: str = ""
    background: bool = False


class StepEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a step ended."""

    conclusion: Literal["succeeded", "failed", "cancelled", "timed_out", "skipped"]
    outcome: Literal["succeeded", "failed", "cancelled", "timed_out", "skipped"]
    ending: Ending | None = None
    annotations: tuple[Annotation, ...] = ()
    annotations_left_out: int = 0
    summary: str = ""


class Machine(Protocol):
    """The driver. Methods that are no coroutines return at once."""

    @property
    def layout(self) -> Layout: ...

    @property
    def host(self) -> Host: ...

    async def run(self, command: Command, output: Output, leash: Leash) -> Ending:
        """Run a program to its end; its output goes to ``output``, all of it before this returns."""
        ...

    def limit(self, leash: Leash, milliseconds: int) -> None:
        """Stop the leash after so long; 0 lifts the limit."""
        ...

    def stop(self, leash: Leash, why: Stop) -> None:
        """Stop what runs on a leash: SIGINT, SIGTERM, kill."""
        ...

    def spawn(self, work: Coroutine[object, object, T]) -> Task[T]:
        """Do something beside the rest."""
        ...

    def write(self, number: int, text: bytes) -> None:
        """Add output of a step to the log."""
        ...

    def mask(self, secret: str) -> None:
        """Never let a text reach the log from here on."""
        ...

    def masked(self, text: str) -> str:
        """Return a text as it may be shown."""
        ...

    def step_started(self, news: StepNews) -> None: ...

    def step_finished(self, news: StepNews, end: StepEnd) -> None: ...
