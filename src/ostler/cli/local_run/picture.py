"""What is known of a run at a moment: its jobs, their steps, and the last lines of each. Views draw it."""

from collections import deque
from typing import Final

from ostler.cli.local_run.happenings import (
    Ending,
    Happening,
    JobFinished,
    JobStarted,
    Line,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
)
from ostler.cli.local_run.style import HIDDEN
from ostler.protocol.v1.runner_messages import Annotation

_TAIL: Final = 25


class StepPicture:
    """One step."""

    def __init__(self, name: str, began: float) -> None:
        self.name = name
        self.began = began
        self.ended: StepFinished | None = None
        self.tail: deque[str] = deque(maxlen=_TAIL)


class JobPicture:
    """One job."""

    def __init__(self, job: str, name: str) -> None:
        self.job = job
        self.name = name
        self.began: float | None = None
        self.ended: JobFinished | None = None
        self.steps: dict[int, StepPicture] = {}

    def annotations(self) -> list[Annotation]:
        """Return the remarks of all its steps."""
        return [remark for step in self.steps.values() if step.ended for remark in step.ended.annotations]

    def summaries(self) -> list[str]:
        """Return what its steps wrote for people."""
        return [step.ended.summary for step in self.steps.values() if step.ended and step.ended.summary]


class Picture:
    """One run. ``take`` is told everything in order."""

    def __init__(self) -> None:
        self.started: RunStarted | None = None
        self.ended: RunFinished | None = None
        self.jobs: dict[str, JobPicture] = {}

    def take(self, happening: Happening, now: float) -> None:
        """Let something have happened at a moment of the monotonic clock."""
        match happening:
            case RunStarted():
                self.started = happening
                self.jobs = {row.id: JobPicture(row.id, row.name) for row in happening.jobs}
            case JobStarted():
                job = self._job(happening.job, happening.name)
                job.began, job.name = now, happening.name
            case StepStarted():
                self.jobs[happening.job].steps[happening.step] = StepPicture(happening.name, now)
            case Line():
                step = self.jobs[happening.job].steps.get(happening.step)
                if step is not None and happening.text != HIDDEN:
                    step.tail.append(happening.text)
            case StepFinished():
                steps = self.jobs[happening.job].steps
                step = steps.setdefault(happening.step, StepPicture(happening.name, now))
                step.name, step.ended = happening.name, happening
            case JobFinished():
                job = self._job(happening.job, happening.name)
                job.ended, job.name = happening, happening.name
            case RunFinished():
                self.ended = happening
            case _:
                pass

    def counted(self) -> dict[Ending, int]:
        """Return how many jobs ended in which way."""
        counts: dict[Ending, int] = {}
        for job in self.jobs.values():
            if job.ended:
                counts[job.ended.conclusion] = counts.get(job.ended.conclusion, 0) + 1
        return counts

    def _job(self, job: str, name: str) -> JobPicture:
        """Return a job; the first of a matrix or of a called workflow takes the place of that as a whole."""
        if job not in self.jobs:
            self.jobs = {
                known: picture
                for known, picture in self.jobs.items()
                if picture.ended or picture.began or not job.startswith((f"{known}[", f"{known}/"))
            }
            self.jobs[job] = JobPicture(job, name)
        return self.jobs[job]
