"""Tasks and futures that behave the same in every run, and the burial of tasks that never end.

A set of tasks is iterated by hash, and the ordinary hash is a memory address; here it is the order of creation.
"""

import asyncio
import warnings
from collections.abc import Coroutine, Generator, Iterable
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from ostler.testing.loop import Life

T = TypeVar("T")

_PATIENCE = 100


class SimFuture(asyncio.Future[Any]):
    """A future that is hashed by its number."""

    def __init__(self, serial: int, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self.serial = serial

    def __hash__(self) -> int:
        return self.serial


class SimTask(asyncio.Task[T]):
    """A task that is hashed by its number and knows the life it belongs to."""

    def __init__(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        loop: asyncio.AbstractEventLoop,
        serial: int,
        name: str,
        life: "Life | None",
        context: Context | None,
    ) -> None:
        self.serial = serial
        self.life = life
        super().__init__(coro, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self.serial


def describe(task: SimTask[Any]) -> str:
    """One line: which task of which process waits where."""
    owner = task.life.name if task.life else "world"
    state = f" ({task.life.state})" if task.life and task.life.state != "running" else ""
    inner: Any = task.get_coro()
    while hasattr(getattr(inner, "cr_await", None), "cr_frame"):
        inner = inner.cr_await
    frame = getattr(inner, "cr_frame", None)
    where = f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}" if frame else repr(inner)
    return f"  {owner}{state} {task.get_name()}: {where}"


def unseen_failures(tasks: Iterable[SimTask[Any]]) -> list[str]:
    """What tasks raised that nobody awaited, except in processes that have died since."""
    return [
        f"{task.get_name()} raised {task.exception()!r} and nobody looked"
        for task in tasks
        if getattr(task, "_log_traceback", False) and (task.life is None or task.life.state != "dead")
    ]


def bury(tasks: Iterable[SimTask[Any]]) -> None:
    """Close what the tasks left suspended, in order of creation; what their `finally` blocks raise is dropped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # what was made to be awaited later never is
        for task in tasks:
            _bury(task)


def _bury(task: SimTask[Any]) -> None:
    if task.done():
        with suppress(asyncio.CancelledError):
            task.exception()
        return
    setattr(task, "_log_destroy_pending", False)  # noqa: B010 - known to asyncio, not to its type stubs
    coro: Any = task.get_coro()
    for _ in range(_PATIENCE):
        try:
            coro.close()
            break
        except BaseException:  # noqa: BLE001, S112 - a block that awaits or raises is closed again
            continue
