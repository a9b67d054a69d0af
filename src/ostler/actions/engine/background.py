"""Steps in the background: begun and not waited for, until a later step, or the end of the main steps, waits for them.

What they set (outputs, variables, search path, outcome) is seen by others from then on, and only then do they make the
job fail. At most ten run at once; more wait for their turn.
"""

from collections.abc import Coroutine, Iterable
from typing import Final

from ostler.actions.engine.frame import Result
from ostler.actions.engine.machine import Machine, Outcome
from ostler.actions.engine.scope import JobState, Place
from ostler.actions.engine.step import commit
from ostler.actions.engine.track import Track
from ostler.actions.engine.turns import Task, Waiting
from ostler.protocol.v1.program import Step

AT_ONCE: Final = 10


class Background:
    """One step in the background."""

    def __init__(self, step: Step, track: Track, name: str) -> None:
        self.step = step
        self.track = track
        self.name = name
        self.task: Task[Result] | None = None
        self.stopped_on_purpose = False
        self.taken = False
        """Whether somebody waited for it."""


class Backgrounds:
    """All of them."""

    def __init__(self, job: JobState, place: Place) -> None:
        self._job = job
        self._place = place
        self._all: list[Background] = []
        self._free = AT_ONCE
        self._queue: list[Waiting[None]] = []

    @property
    def _machine(self) -> Machine:
        return self._job.machine

    def start(self, one: Background, work: Coroutine[object, object, Result]) -> None:
        """Begin a step; it may have to wait for its turn."""
        self._all.append(one)
        one.task = self._machine.spawn(self._in_turn(work))

    def named(self, ids: Iterable[str]) -> list[Background]:
        """Return those of the given ids; the latest if an id was used again."""
        wanted = list(ids)
        return [one for one in self._all if one.step.id and one.step.id in wanted]

    @property
    def untaken(self) -> list[Background]:
        return [one for one in self._all if not one.taken]

    async def wait(self, some: Iterable[Background]) -> Outcome:
        """Wait for steps and take what they left; say how they ended together."""
        worst: Outcome = "succeeded"
        for one in list(some):
            if one.task is None:
                continue
            result = await one.task.ended
            if not one.taken:
                one.taken = True
                self._job.environment.take(one.track.environment)
                # The step that waits fails in its place.
                commit(self._job, self._place, one.step, result, fails_job=False)
            if result.conclusion == "failed":
                worst = "failed"
            elif result.conclusion == "cancelled" and not one.stopped_on_purpose and worst != "failed":
                worst = "cancelled"
        return worst

    async def cancel(self, some: Iterable[Background]) -> None:
        """Stop steps and wait until they are gone."""
        chosen = list(some)
        for one in chosen:
            one.stopped_on_purpose = True
            self._machine.stop(one.track.leash, "cancelled")
        await self.wait(chosen)

    async def _in_turn(self, work: Coroutine[object, object, Result]) -> Result:
        if self._free == 0:
            turn: Waiting[None] = Waiting()
            self._queue.append(turn)
            await turn
        else:
            self._free -= 1
        self._job.beside += 1
        try:
            return await work
        finally:
            self._job.beside -= 1
            if self._queue:
                self._queue.pop(0).finish(None)
            else:
                self._free += 1
