"""Machines and the processes that live and die on them.

A `Node` is a machine: a disk and a clock that outlive its processes. A `Process` is one life of a program on it. Its
tasks, timers and callbacks all inherit the process by a context variable, so the loop can hold them (pause) or drop
them (death). After its death its disk, its transports and its tasks raise `NodeDown` and change nothing, so that not
even the `finally` blocks of what it was doing have an effect. The next life is a new `Process`.
"""

from collections.abc import Callable, Coroutine
from contextvars import Context
from traceback import format_exception
from typing import Any, TypeVar

from ostler.effects import Effects, Micros, Random, SortableIds, seeded_random
from ostler.testing.disk import ProcessDisk, SimDisk
from ostler.testing.errors import NodeDown
from ostler.testing.faults import Fault, Faults
from ostler.testing.loop import CURRENT_LIFE, Life, SimLoop
from ostler.testing.tasks import SimTask

T = TypeVar("T")

EPOCH_MICROS = 1_750_000_000_000_000

Program = Callable[["Process"], Coroutine[Any, Any, None]]


class NodeClock:
    """The clock of a machine: it may start wrong, run fast or slow, jump, and stand still in a suspend."""

    def __init__(self, loop: SimLoop, *, skew: float = 0.0, drift: float = 0.0) -> None:
        self._loop = loop
        self._skew = skew
        self._rate = 1.0 + drift
        self._suspended = 0.0

    def now(self) -> Micros:
        return Micros(EPOCH_MICROS + int((self._loop.time() * self._rate + self._skew) * 1_000_000))

    def monotonic(self) -> float:
        return self._loop.time() * self._rate - self._suspended

    def jump(self, seconds: float) -> None:
        self._skew += seconds

    def suspend(self, seconds: float) -> None:
        """Leave this much time out of `monotonic`, as Linux does when the machine sleeps."""
        self._suspended += seconds


class Process(Life):
    """One life of a program on a node. The program gets it as its only argument."""

    def __init__(self, node: "Node", name: str, number: int) -> None:
        super().__init__(f"{node.name}/{name}#{number}")
        self.node = node
        self.program_name = name
        self.number = number
        self.context = Context()
        self.context.run(CURRENT_LIFE.set, self)
        random = seeded_random(f"{node.loop.seed}/{self.name}")
        self.effects = Effects(node.clock, SortableIds(node.clock, random), random)
        self.disk = ProcessDisk(node.disk, self)
        self.failure: BaseException | None = None
        self.undisturbed_since = node.loop.time()
        """Since when it has run without a pause."""
        self.told_to_end = False
        self._watchers: list[Callable[[bool], None]] = []
        self._main: SimTask[None] | None = None

    @property
    def alive(self) -> bool:
        return self.state != "dead"

    def check(self) -> None:
        if self.state == "dead":
            raise NodeDown(self.name)

    def spawn(self, coro: Coroutine[Any, Any, T], name: str | None = None) -> SimTask[T]:
        """A task of this process, whoever starts it."""
        if self.state == "dead":
            coro.close()
            raise NodeDown(self.name)
        task = self.node.loop.create_task(coro, name=name, context=self.context.copy())
        assert isinstance(task, SimTask)  # noqa: S101
        return task

    def watch(self, watcher: Callable[[bool], None]) -> None:
        """Call back at the end of this life; the argument tells whether the whole machine went down."""
        self._watchers.append(watcher)

    def unwatch(self, watcher: Callable[[bool], None]) -> None:
        if watcher in self._watchers:
            self._watchers.remove(watcher)

    def run(self, program: Program) -> None:
        self._main = self.spawn(program(self), name="main")
        self._main.add_done_callback(self._exited, context=Context())

    def pause(self) -> None:
        """As SIGSTOP: nothing of it runs until `resume`."""
        if self.state == "running":
            self.state = "paused"
            self.note("paused")

    def resume(self) -> None:
        if self.state == "paused":
            self.state = "running"
            self.undisturbed_since = self.node.loop.time()
            self.note("resumed")
            self.node.loop.release(self)

    def terminate(self) -> None:
        """As SIGTERM: the program's main task is cancelled and may clean up."""
        if self._main is not None and self.alive:
            self.told_to_end = True
            self._main.cancel()

    def kill(self) -> None:
        """As SIGKILL: the process is gone, what it wrote stays."""
        self.end(power=False)

    def fall(self, *, power: bool) -> None:
        if power:
            self.node.crash()
        else:
            self.kill()

    def end(self, *, power: bool) -> None:
        if self.state == "dead":
            return
        self.state = "dead"
        self.note("lost power" if power else "ended")
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            watcher(power)

    def note(self, text: str) -> None:
        self.node.loop.trace.note(self.node.loop.time(), f"{self.name}: {text}")

    def _exited(self, task: SimTask[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, NodeDown):
            self.failure = error
            self.note(f"failed with {error!r}")
            self.node.on_failure(self, error)
        self.end(power=False)


class Node:
    """One machine."""

    def __init__(self, name: str, loop: SimLoop, faults: Faults, *, capacity: int = 1 << 40) -> None:
        random: Random = seeded_random(f"{loop.seed}/{name}")
        skewed = faults.fires(Fault.CLOCK_SKEW)
        self.name = name
        self.loop = loop
        self.clock = NodeClock(
            loop,
            skew=random.uniform(-86_400, 86_400) if skewed else 0.0,
            drift=random.uniform(-0.001, 0.001) if skewed else 0.0,
        )
        self.disk = SimDisk(random, faults, capacity=capacity)
        self.processes: list[Process] = []
        self.on_failure: Callable[[Process, BaseException], None] = _report
        self._number = 0

    def start(self, program: Program, name: str = "main") -> Process:
        """A new process of this program; it stays on the node until it ends."""
        self._number += 1
        process = Process(self, name, self._number)
        self.processes = [each for each in self.processes if each.alive]
        self.processes.append(process)
        process.note("starts")
        process.run(program)
        return process

    def running(self, name: str = "main") -> Process | None:
        """The living process that was started under this name."""
        return next((process for process in self.processes if process.alive and process.program_name == name), None)

    def crash(self) -> None:
        """A power loss: every process is gone, and what no sync made durable may be."""
        for process in self.processes:
            process.end(power=True)
        self.processes.clear()
        self.disk.lose_power()

    def pause(self) -> None:
        for process in self.processes:
            process.pause()

    def resume(self) -> None:
        for process in self.processes:
            process.resume()


def _report(process: Process, error: BaseException) -> None:
    process.node.loop.unhandled.append("".join(format_exception(error)))
