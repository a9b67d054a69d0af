"""An asyncio event loop with virtual time and a seeded order of execution.

Time stands in `time()` and moves only here: a microsecond with each step, and to the next timer when nothing is ready.
A timer may fire a little late, as on every real machine, which lets timers that are close together change places.

Which orders are legal. asyncio promises that callbacks run in the order of `call_soon`, and futures and protocols rely
on it; but when two *tasks* are both ready, which goes first depends on the arrival of events that no program controls.
So each task is a lane, the plain callbacks of one process together are a lane, each lane is first in first out, and
the seed picks the lane. Code that is only right in one order of its tasks fails under some seed.

Every step belongs to a `Life`, found through a context variable that tasks and callbacks inherit. The steps of a paused
life are held until it resumes; those of a dead one are dropped, and its coroutines are kept, suspended, until the run
is over, so that their `finally` blocks cannot act in the middle of it.

There is no real I/O here: sockets, subprocesses and signals raise, and executors run inline as a step of their own.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Executor
from contextvars import Context, ContextVar, copy_context
from threading import get_ident
from typing import Any, Literal, TypeVar, TypeVarTuple, Unpack

from ostler.effects import seeded_random
from ostler.testing.errors import Deadlock, LimitExceeded, RealWorldTouched
from ostler.testing.tasks import SimFuture, SimTask, bury, describe, unseen_failures
from ostler.testing.trace import Trace

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

STEP_SECONDS = 0.000_001
LATE_SECONDS = 0.002


class Life:
    """One process as the loop sees it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state: Literal["running", "paused", "dead"] = "running"
        self.held: list[Step] = []


CURRENT_LIFE: ContextVar[Life | None] = ContextVar("CURRENT_LIFE", default=None)


class Step(asyncio.TimerHandle):
    """One callback to run, with the lane it runs in and the life it belongs to."""

    __slots__ = ("life", "of_task", "serial")

    def __init__(
        self,
        serial: int,
        when: float,
        callback: Callable[..., object],
        args: tuple[object, ...],
        loop: "SimLoop",
        context: Context,
    ) -> None:
        super().__init__(when, callback, args, loop, context)
        self.serial = serial
        self.life = context.get(CURRENT_LIFE)
        self.of_task = isinstance(getattr(callback, "__self__", None), SimTask)

    def run(self) -> None:
        self._run()


class SimLoop(asyncio.BaseEventLoop):
    """See the module. One loop is good for one run."""

    def __init__(self, seed: int | str, *, max_steps: int = 5_000_000, max_seconds: float = 400_000.0) -> None:
        super().__init__()
        self.seed = seed
        self.steps = 0
        self.trace = Trace()
        self.unhandled: list[str] = []
        self._max_steps = max_steps
        self._max_seconds = max_seconds
        self._draw = seeded_random(f"{seed}/schedule").uniform
        self._seconds = 0.0
        self._serial = 0
        self._ready_lanes: list[Step | deque[Step]] = []
        self._callbacks: dict[Life | None, deque[Step]] = {}
        self._timers: list[tuple[float, int, Step]] = []
        self._tasks: list[SimTask[Any]] = []
        self._tasks_limit = 64
        self._failure: BaseException | None = None
        self.ended = False
        self._thread = get_ident()
        self.set_exception_handler(_collect)

    # Scheduling

    def time(self) -> float:
        return self._seconds

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        step = self._step(self._seconds, callback, args, context)
        if not self.ended:
            self._push(step)
        return step

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if get_ident() != self._thread:
            self.fail(RealWorldTouched("simulated code runs a real thread"))
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._seconds + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        step = self._step(when, callback, args, context)
        if not self.ended:
            heapq.heappush(self._timers, (when, step.serial, step))
        return step

    def create_future(self) -> asyncio.Future[Any]:
        self._serial += 1
        return SimFuture(self._serial, self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
        **options: object,
    ) -> asyncio.Task[T]:
        self._serial += 1
        life = CURRENT_LIFE.get() if context is None else context.get(CURRENT_LIFE)
        task = SimTask(coro, self, self._serial, str(name or f"task-{self._serial}"), life, context)
        self._tasks.append(task)
        if len(self._tasks) > self._tasks_limit:
            self._tasks = [each for each in self._tasks if not each.done()]
            self._tasks_limit = 2 * len(self._tasks) + 64
        return task

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self.create_future()

        def work() -> None:
            if future.cancelled():
                return
            try:
                future.set_result(func(*args))
            except Exception as error:  # noqa: BLE001 - the caller awaits the future and gets it
                future.set_exception(error)

        self.call_soon(work)
        return future

    def release(self, life: Life) -> None:
        """Let a resumed life go on with all that it was held back from, in the same order."""
        held, life.held = life.held, []
        for step in held:
            self._push(step)

    def fail(self, error: BaseException) -> None:
        """End the run with this error after the present step, whoever catches what in between."""
        self._failure = self._failure or error

    def tasks_of(self, life: Life | None) -> list[SimTask[Any]]:
        return [task for task in self._tasks if task.life is life and not task.done()]

    def end(self) -> None:
        """Declare every life dead and let go of all that is suspended, without any effect."""
        self.ended = True
        self.unhandled += unseen_failures(self._tasks)
        for task in self._tasks:
            if task.life is not None:
                task.life.state = "dead"
        bury(self._tasks)
        self._tasks.clear()
        self._ready_lanes.clear()
        self._callbacks.clear()
        self._timers.clear()
        self.close()

    # One step

    def _run_once(self) -> None:
        self._seconds += STEP_SECONDS
        self._wake()
        if not self._ready_lanes:
            self._jump()
        step = self._pick()
        if step.cancelled():
            return
        life = step.life
        if life is not None and life.state != "running":
            if life.state == "paused":
                life.held.append(step)
            return
        self.steps += 1
        self.trace.step(step.serial, self._seconds)
        if self.steps > self._max_steps or self._seconds > self._max_seconds:
            raise LimitExceeded(f"still running after {self.steps} steps and {self._seconds:.0f} virtual seconds")
        step.run()
        if self._failure is not None:
            raise self._failure

    def _step(
        self, when: float, callback: Callable[..., object], args: tuple[object, ...], context: Context | None
    ) -> Step:
        self._serial += 1
        return Step(self._serial, when, callback, args, self, copy_context() if context is None else context)

    def _push(self, step: Step) -> None:
        if step.of_task:
            self._ready_lanes.append(step)
            return
        lane = self._callbacks.get(step.life)
        if lane is None:
            lane = self._callbacks[step.life] = deque()
        lane.append(step)
        self._ready_lanes.append(lane)

    def _pick(self) -> Step:
        ready = self._ready_lanes
        if len(ready) > 1:
            index = int(self._draw(0, len(ready)))
            ready[index], ready[-1] = ready[-1], ready[index]
        lane = ready.pop()
        return lane.popleft() if isinstance(lane, deque) else lane

    def _wake(self) -> None:
        timers = self._timers
        while timers and timers[0][0] <= self._seconds:
            self._push(heapq.heappop(timers)[2])

    def _jump(self) -> None:
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        if not timers:
            waiting = "\n".join(describe(task) for task in self._tasks if not task.done())
            raise Deadlock(f"nothing is ready and no timer is set after {self._seconds:.3f} s; waiting are\n{waiting}")
        late = self._draw(-3 * LATE_SECONDS, LATE_SECONDS)
        self._seconds = max(self._seconds, timers[0][0] + max(late, 0.0))
        self._wake()

    def _asyncgen_finalizer_hook(self, agen: Any) -> None:  # noqa: ANN401 - as the base class has it
        if not self.ended:
            self.create_task(agen.aclose())


def _collect(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    assert isinstance(loop, SimLoop)  # noqa: S101
    if loop.ended:  # what the dead leave behind when they are buried; what failed before was collected
        return
    future = context.get("future") or context.get("task")
    if isinstance(future, SimTask) and future.life is not None and future.life.state == "dead":
        return
    loop.unhandled.append(f"{context.get('message')}: {context.get('exception')!r} in {future!r}")


def _refuse(*_: object, **__: object) -> Any:  # noqa: ANN401 - it never returns
    raise RealWorldTouched("simulated code reached for a real socket, process or signal")


_REAL = (
    *("add_reader", "remove_reader", "add_writer", "remove_writer", "add_signal_handler", "remove_signal_handler"),
    *("create_connection", "create_server", "create_unix_connection", "create_unix_server", "connect_accepted_socket"),
    *("create_datagram_endpoint", "connect_read_pipe", "connect_write_pipe", "subprocess_exec", "subprocess_shell"),
    *("sock_recv", "sock_recv_into", "sock_recvfrom", "sock_sendall", "sock_sendto", "sock_connect", "sock_accept"),
    *("sock_sendfile", "sendfile", "start_tls", "getaddrinfo", "getnameinfo"),
)
for _name in _REAL:
    setattr(SimLoop, _name, staticmethod(_refuse))
