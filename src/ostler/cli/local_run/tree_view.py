"""A run at a terminal: a tree of jobs and steps that is drawn again in place while it goes on.

Jobs that are done fold into one line, those that run show their steps and the newest line of each; what failed is told
above the tree at once, with its last lines. Drawing needs three control sequences; a library would cost more time to
import than a short run takes.
"""

from collections.abc import Callable
from typing import Final

from ostler.cli.local_run import report
from ostler.cli.local_run.happenings import Happening, Notice, RunFinished, RunStarted, StepFinished
from ostler.cli.local_run.picture import JobPicture, Picture, StepPicture
from ostler.cli.local_run.style import Style, duration
from ostler.cli.local_run.views import Write
from ostler.logs.visible import plain

_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_A_SECOND: Final = 10
_LEAST_SECONDS: Final = 0.08
_STEPS_SHOWN: Final = 6


class TreeView:
    """Draws on a terminal of a size that may change."""

    def __init__(self, write: Write, style: Style, size: Callable[[], tuple[int, int]]) -> None:
        self._write = write
        self._style = style
        self._size = size
        self._picture = Picture()
        self._drawn = 0
        self._drawn_at = 0.0

    def show(self, happening: Happening, now: float) -> None:
        if isinstance(happening, RunStarted):
            self._picture = Picture()
        self._picture.take(happening, now)
        match happening:
            case RunStarted():
                self._above([self._style.strong(report.headline(happening))], now)
            case Notice(message=message):
                self._above([f"notice: {message}"], now)
            case StepFinished(conclusion="failure"):
                self._above(self._failure(happening), now)
            case RunFinished():
                self._finish(now)
            case _:
                self._draw(now)

    def tick(self, now: float) -> None:
        if self._picture.started and not self._picture.ended:
            self._draw(now)

    def close(self) -> None:
        if self._drawn:
            self._write("\x1b[?25h")
            self._drawn = 0

    def rows(self, now: float) -> list[str]:
        """Return the tree, each row as wide as it is and all of them no higher than the terminal."""
        width, height = self._size()
        rows: list[str] = []
        for job in self._picture.jobs.values():
            rows += self._job(job, now)
        room = max(1, height - 2)
        if len(rows) > room:
            rows = [row for row in rows if not row.startswith("\0")]
        if len(rows) > room:
            left_out = len(rows) - room + 1
            rows = [f"… {left_out} more above", *rows[left_out:]]
        return [_cut(row.removeprefix("\0"), width) for row in rows]

    def _job(self, job: JobPicture, now: float) -> list[str]:
        if job.ended:
            taken = f" {duration(job.ended.duration_ms / 1000)}" if job.ended.log else ""
            note = f" {job.ended.note}" if job.ended.note else ""
            # Rows that begin with NUL are the first to go where the terminal is low.
            return [f"\0{self._style.mark(job.ended.conclusion)} {job.name}{self._style.faint(taken + note)}"]
        if job.began is None:
            return [f"\0{self._style.faint('○ ' + job.name)}"]
        rows = [f"{self._spinner(now)} {job.name} {self._style.faint(duration(now - job.began))}"]
        steps = list(job.steps.values())[-_STEPS_SHOWN:]
        for step in steps:
            rows += self._step(step, now)
        return rows

    def _step(self, step: StepPicture, now: float) -> list[str]:
        if step.ended:
            return [] if step.ended.conclusion == "skipped" else [f"\0  {report.step_end(step.ended, self._style)}"]
        rows = [f"  {self._spinner(now)} {step.name} {self._style.faint(duration(now - step.began))}"]
        if step.tail:
            rows.append("    " + self._style.faint(plain(step.tail[-1].encode())))
        return rows

    def _failure(self, ended: StepFinished) -> list[str]:
        job = self._picture.jobs[ended.job]
        step = job.steps[ended.step]
        head = f"{self._style.strong(job.name)} · {report.step_end(ended, self._style)}"
        return [head, *(f"  {self._style.line(text)}" for text in step.tail)]

    def _finish(self, now: float) -> None:
        self._erase()
        lines = [row for job in self._picture.jobs.values() for row in self._job(job, now)]
        lines = [line.removeprefix("\0") for line in lines] + report.ending(self._picture, self._style, tails=False)
        self._write("\n".join(lines) + "\n\x1b[?25h")

    def _above(self, lines: list[str], now: float) -> None:
        self._erase()
        self._write("".join(line + "\n" for line in lines))
        self._draw(now, at_once=True)

    def _draw(self, now: float, *, at_once: bool = False) -> None:
        if not at_once and now - self._drawn_at < _LEAST_SECONDS:
            return
        self._drawn_at = now
        rows = self.rows(now)
        back = f"\x1b[{self._drawn}F" if self._drawn else "\x1b[?25l"
        self._write(back + "".join(f"\x1b[2K{row}\n" for row in rows) + "\x1b[0J")
        self._drawn = len(rows)

    def _erase(self) -> None:
        if self._drawn:
            self._write(f"\x1b[{self._drawn}F\x1b[0J")
            self._drawn = 0

    def _spinner(self, now: float) -> str:
        return self._style.paint(_FRAMES[int(now * _A_SECOND) % len(_FRAMES)], "34")


def _cut(row: str, width: int) -> str:
    """Return as much of a row as fits on one line; its colours take no room."""
    if len(row) <= width:
        return row
    shown, at = 0, 0
    while at < len(row) and shown < width - 1:
        if row[at] == "\x1b":
            at = row.find("m", at) + 1 or len(row)
            continue
        shown += 1
        at += 1
    return row if at >= len(row) else row[:at] + "…\x1b[0m"
