"""What came of a scenario, sorted by job and step, so that it can be compared with what is expected."""

from pathlib import Path

from ostler.cli.local_run.happenings import (
    Happening,
    JobFinished,
    JobStarted,
    Line,
    Notice,
    RunFinished,
    RunStarted,
    StepFinished,
)


class Played:
    """One scenario that was run."""

    def __init__(self, code: int, happenings: list[Happening], said: str, error: str) -> None:
        self.code = code
        self.said = said
        """What was told of files."""
        self.error = error
        self.happenings = happenings
        self.runs = [each for each in happenings if isinstance(each, RunStarted)]
        self.jobs = {each.job: each for each in happenings if isinstance(each, JobFinished)}
        self.started = [each.job for each in happenings if isinstance(each, JobStarted)]
        self.notices = [each.message for each in happenings if isinstance(each, Notice)]
        self.lines = [each for each in happenings if isinstance(each, Line)]
        self.steps = [each for each in happenings if isinstance(each, StepFinished)]

    def log(self, job: str) -> list[str]:
        """The lines of a job."""
        return [line.text for line in self.lines if line.job == job]

    def step(self, job: str, key: str) -> StepFinished:
        """A step by its id or name."""
        of_job = [step for step in self.steps if step.job == job]
        found = next((step for step in of_job if key in (step.id, step.name)), None)
        assert found is not None, f"no step {key} among {[each.name for each in of_job]}: {self}"
        return found

    def artifacts(self) -> dict[str, dict[str, str]]:
        """All artifacts with their files."""
        found: dict[str, dict[str, str]] = {}
        for each in self.happenings:
            for name, place in each.artifacts.items() if isinstance(each, RunFinished) else ():
                files = [path for path in sorted(Path(place).rglob("*")) if path.is_file()]
                found[name] = {file.relative_to(place).as_posix(): file.read_text() for file in files}
        return found

    def everything(self) -> str:
        """All that was told, to look for something anywhere."""
        notes = [each.note for each in self.jobs.values()]
        remarks = [remark.message for step in self.steps for remark in step.annotations]
        return "\n".join([self.error, self.said, *self.notices, *notes, *remarks, *(line.text for line in self.lines)])

    def __repr__(self) -> str:
        told = "\n".join(f"  {each}" for each in self.happenings)
        return f"exit {self.code}\n{self.error}{self.said}{told}"
