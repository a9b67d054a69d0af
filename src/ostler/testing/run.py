"""Running one coroutine to its end on a simulated loop."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any, Generic, NamedTuple, TypeVar

from ostler.testing.errors import Unhandled
from ostler.testing.loop import SimLoop

T = TypeVar("T")


class Outcome(NamedTuple, Generic[T]):
    """What a run returned and what it took."""

    value: T
    fingerprint: str
    steps: int
    seconds: float


def run(seed: int | str, main: Callable[[], Coroutine[Any, Any, T]], *, loop: SimLoop | None = None) -> Outcome[T]:
    """Run `main()` under this seed; raise what it raises, or `Unhandled` if something else failed unseen.

    The garbage collector rests meanwhile: when it runs depends on the history of the whole process, and finalizers
    would run with it.
    """
    loop = loop or SimLoop(seed)
    collected = gc.isenabled()
    gc.disable()
    try:
        value = loop.run_until_complete(main())
        outcome = Outcome(value, loop.trace.fingerprint, loop.steps, loop.time())
    finally:
        loop.end()
        if collected:
            gc.enable()
    if loop.unhandled:
        raise Unhandled("\n".join(loop.unhandled))
    return outcome


def simulated_loop() -> SimLoop:
    """The loop of the run in progress."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, SimLoop):
        raise TypeError("not inside a simulation")
    return loop
