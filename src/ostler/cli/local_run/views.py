"""How a run is shown: line by line for logs and files, or as JSON for programs. The live tree has its own file."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from ostler.cli.local_run import report
from ostler.cli.local_run.happenings import (
    Happening,
    JobFinished,
    JobStarted,
    Line,
    Notice,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
)
from ostler.cli.local_run.picture import Picture
from ostler.cli.local_run.style import HIDDEN, Style, duration

Write = Callable[[str], object]


class View(Protocol):
    """Shows one run after the other."""

    def show(self, happening: Happening, now: float) -> None:
        """Show that something happened."""
        ...

    def tick(self, now: float) -> None:
        """Let time have passed; called a few times a second."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


class JsonView:
    """One object a line."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._encoder = msgspec.json.Encoder()

    def show(self, happening: Happening, now: float) -> None:
        self._write(self._encoder.encode(happening).decode() + "\n")

    def tick(self, now: float) -> None:
        pass

    def close(self) -> None:
        pass


class PlainView:
    """Each line behind the name of its job. ``quiet`` keeps logs of what goes well to itself."""

    def __init__(self, write: Write, style: Style, *, quiet: bool) -> None:
        self._write = write
        self._style = style
        self._quiet = quiet
        self._picture = Picture()
        self._width = 0

    def show(self, happening: Happening, now: float) -> None:
        if isinstance(happening, RunStarted):
            self._picture = Picture()
            self._width = max((len(row.name) for row in happening.jobs), default=0)
        self._picture.take(happening, now)
        if self._quiet and not isinstance(happening, RunFinished):
            return
        for text in self._told(happening):
            self._write(text + "\n")

    def tick(self, now: float) -> None:
        pass

    def close(self) -> None:
        pass

    def _told(self, happening: Happening) -> list[str]:
        style = self._style
        match happening:
            case Notice(message=message):
                return [f"notice: {message}"]
            case RunStarted():
                return [style.strong(report.headline(happening))]
            case JobStarted(job=job):
                return [self._of(job, style.faint("started"))]
            case StepStarted(job=job, name=name):
                return [self._of(job, style.strong(f"▸ {name}"))]
            case Line(job=job, text=text):
                return [] if text == HIDDEN else [self._of(job, style.line(text))]
            case StepFinished(job=job):
                return [] if happening.conclusion == "skipped" else [self._of(job, report.step_end(happening, style))]
            case JobFinished(job=job):
                taken = style.faint(f" {duration(happening.duration_ms / 1000)}") if happening.log else ""
                note = f": {happening.note}" if happening.note else ""
                return [self._of(job, f"{style.mark(happening.conclusion)} {happening.conclusion}{taken}{note}")]
            case RunFinished():
                return report.ending(self._picture, style, tails=self._quiet)

    def _of(self, job: str, text: str) -> str:
        name = self._picture.jobs[job].name
        self._width = max(self._width, len(name))
        return f"{self._style.faint(name.ljust(self._width) + ' |')} {text}"
