"""One job of a run on this machine: followed through its supervisor, told line by line, its log kept in a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from ostler.agent.supervision import JobResult, StepConclusion, StepEvent, Supervisor
from ostler.cli.local_run.happenings import Ending, Happening, Line, StepFinished, StepStarted
from ostler.cli.local_run.log_lines import LogLines

ENDINGS: Final[dict[StepConclusion, Ending]] = {
    "succeeded": "success",
    "failed": "failure",
    "cancelled": "cancelled",
    "timed_out": "failure",
    "skipped": "skipped",
}


class JobRun:
    """Tells what one supervisor does, each line between the start and the end of its step."""

    def __init__(self, node: str, supervisor: Supervisor, log: Path, tell: Callable[[Happening], None]) -> None:
        self._node = node
        self._supervisor = supervisor
        self._log = log
        self._tell = tell
        self._lines = LogLines(supervisor)
        self._events = 0
        self._begun: set[int] = set()
        self._early: list[tuple[int, int, str]] = []
        """Lines, by number and step, of steps whose start has not been told yet."""

    async def until_ended(self) -> JobResult:
        """Follow the job to its end."""
        with self._log.open("w", encoding="utf-8", errors="replace") as log:
            while True:
                result = self._supervisor.result()
                # Events are read before the log: what they speak of is in it then.
                events = self._supervisor.events(self._events)
                for line in self._lines.fresh(last=result is not None):
                    text = line.text.decode("utf-8", "replace")
                    log.write(text + "\n")
                    self._early.append((line.number, line.step, text))
                self._events += len(events)
                for event in events:
                    self._take(event)
                self._pass_on(self._begun)
                if result is not None:
                    self._pass_on({step for _, step, _ in self._early})
                    return result
                await self._supervisor.changed()

    def _take(self, event: StepEvent) -> None:
        if event.kind == "step_started":
            self._begun.add(event.step)
            self._tell(StepStarted(job=self._node, step=event.step, name=event.name, id=event.step_id))
            return
        self._pass_on({event.step}, up_to=event.last_line)
        conclusion = ENDINGS[event.conclusion or "failed"]
        self._tell(
            StepFinished(
                job=self._node,
                step=event.step,
                name=event.name,
                id=event.step_id,
                conclusion=conclusion,
                outcome=ENDINGS[event.outcome] if event.outcome else conclusion,
                exit_code=event.exit_code,
                duration_ms=event.duration_ms,
                annotations=event.annotations,
                summary=event.summary,
            )
        )

    def _pass_on(self, steps: set[int], *, up_to: int = 0) -> None:
        """Tell the lines of these steps that wait."""
        waiting: list[tuple[int, int, str]] = []
        for number, step, text in self._early:
            if step in steps and (not up_to or number <= up_to):
                self._tell(Line(job=self._node, step=step, text=text))
            else:
                waiting.append((number, step, text))
        self._early = waiting
