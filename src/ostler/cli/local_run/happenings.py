"""What a run on this machine tells while it goes on: the lines of ``--json``, and what every view is made of.

One JSON object a line; ``event`` names its kind. Kinds and fields are only ever added, so a reader skips what it does
not know. Fields that hold nothing are left out. Conclusions are the words of the workflow language.
"""

from typing import Literal, TypeAlias

import msgspec

from ostler.protocol.v1.runner_messages import Annotation

Ending: TypeAlias = Literal["success", "failure", "cancelled", "skipped"]


class _Told(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event"):
    """What all have in common."""


class Notice(_Told, frozen=True, kw_only=True, tag="notice"):
    """Something about the run as a whole that is no error."""

    message: str


class JobRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job as it stands before the run; the cells of a matrix that is computed later appear when they start."""

    id: str
    """Unique within the run: ``build``, ``build[3]`` for a cell, ``caller/inner`` within a reusable workflow."""
    name: str
    needs: tuple[str, ...] = ()


class RunStarted(_Told, frozen=True, kw_only=True, tag="run_started"):
    """The first line of each run."""

    run: str
    workflow: str
    """The file, relative to its repository."""
    name: str
    trigger: str
    """The name of the event."""
    ref: str
    sha: str
    folder: str
    """Where logs and artifacts of the run are kept."""
    jobs: tuple[JobRow, ...] = ()


class JobStarted(_Told, frozen=True, kw_only=True, tag="job_started"):
    """A job was handed to its supervisor."""

    job: str
    name: str
    labels: tuple[str, ...] = ()


class StepStarted(_Told, frozen=True, kw_only=True, tag="step_started"):
    """A step began. ``step`` counts from 0 in the order of the start; ``id`` is what the file calls it."""

    job: str
    step: int
    name: str
    id: str = ""


class Line(_Told, frozen=True, kw_only=True, tag="line"):
    """One line of a job's log, secrets masked."""

    job: str
    step: int
    text: str


class StepFinished(_Told, frozen=True, kw_only=True, tag="step_finished"):
    """A step ended. ``outcome`` is the end before ``continue-on-error`` was looked at."""

    job: str
    step: int
    name: str
    id: str = ""
    conclusion: Ending
    outcome: Ending
    exit_code: int | None = None
    duration_ms: int = 0
    annotations: tuple[Annotation, ...] = ()
    summary: str = ""
    """Markdown."""


class JobFinished(_Told, frozen=True, kw_only=True, tag="job_finished"):
    """A job ended, or will never start."""

    job: str
    name: str
    conclusion: Ending
    duration_ms: int = 0
    outputs: dict[str, str] = {}
    note: str = ""
    """Why it was skipped or cancelled, or what failed beside its steps."""
    log: str = ""
    """The file with its whole log, if it ran."""


class RunFinished(_Told, frozen=True, kw_only=True, tag="run_finished"):
    """The last line of each run."""

    run: str
    conclusion: Ending
    duration_ms: int
    artifacts: dict[str, str] = {}
    """The folder or file of each artifact, by its name."""


Happening: TypeAlias = Notice | RunStarted | JobStarted | StepStarted | Line | StepFinished | JobFinished | RunFinished
