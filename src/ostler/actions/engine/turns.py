"""Tasks without an event loop: a job is written as coroutines, and its driver resumes those that can go on.

A supervisor waits in one ``poll`` for everything; asyncio would bring a second loop, a third of its memory, and
callbacks between the two. What a job waits for is always a ``Waiting`` that somebody finishes.
"""

from collections.abc import Coroutine, Generator
from typing import Generic, TypeVar, cast

T = TypeVar("T")


class Waiting(Generic[T]):
    """Something that a task waits for; ``finish`` makes it happen."""

    __slots__ = ("_value", "done")

    def __init__(self) -> None:
        self.done = False
        self._value: T | None = None

    @property
    def value(self) -> T:
        """What it was finished with."""
        return cast("T", self._value)

    def finish(self, value: T) -> None:
        """Let whoever waits go on."""
        self._value = value
        self.done = True

    def __await__(self) -> Generator["Waiting[T]", None, T]:
        while not self.done:
            yield self
        return self.value


class Task(Generic[T]):
    """A coroutine on its way."""

    def __init__(self, work: Coroutine[object, object, T]) -> None:
        self._work = work
        self._waits: Waiting[object] | None = None
        self.ended: Waiting[T] = Waiting()

    def advance(self) -> bool:
        """Go on as far as possible; say whether anything happened. What the work raises is raised here."""
        if self.ended.done or (self._waits is not None and not self._waits.done):
            return False
        try:
            self._waits = cast("Waiting[object]", self._work.send(None))
        except StopIteration as end:
            self.ended.finish(cast("T", end.value))
        return True

    def close(self) -> None:
        """Give up."""
        self._work.close()


class Tasks:
    """All tasks of one job."""

    def __init__(self) -> None:
        self._tasks: list[Task[object]] = []

    def start(self, work: Coroutine[object, object, T]) -> Task[T]:
        """Take on a task; it begins with the next ``advance``."""
        task = Task(work)
        self._tasks.append(cast("Task[object]", task))
        return task

    def advance(self) -> None:
        """Let every task go on until all of them wait."""
        while any([task.advance() for task in self._tasks]):  # noqa: C419 - each of them, not only up to the first
            self._tasks = [task for task in self._tasks if not task.ended.done]

    def close(self) -> None:
        """Give all of them up."""
        for task in self._tasks:
            task.close()
