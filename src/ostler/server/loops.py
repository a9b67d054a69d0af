"""Background loops: supervised, exclusive across replicas where that matters, and never silent when they fail.

A loop is a function that does one round. It runs at its interval, or at once when its topic is hinted; a failing
round is logged and counted and tried again with growing pauses. An exclusive loop first takes or renews its lease
row, so that one replica does the work and another takes over when that one dies.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

import structlog

from ostler.effects import Effects
from ostler.server.hub import Hub
from ostler.server.metrics import Metrics

log = structlog.get_logger("ostler.server")

_LONGEST_PAUSE_SECONDS = 15.0


class Leadership(Protocol):
    """Exclusive rights to loops, kept in the store."""

    async def hold(self, loop: str, seconds: float) -> bool:
        """Take or renew the right to run ``loop`` for so long; ``False`` if another replica has it."""
        ...

    async def let_go(self, loop: str) -> None:
        """Give the right back, so that another replica need not wait for its end."""
        ...


class Loop(NamedTuple):
    """One loop. ``round`` returns ``True`` if more work waits, which starts the next round at once."""

    name: str
    interval_seconds: float
    round: Callable[[], Awaitable[bool]]
    exclusive: bool = True
    topic: str = ""


class Loops:
    """Runs a set of loops until closed."""

    def __init__(self, loops: list[Loop], leadership: Leadership, hub: Hub, effects: Effects, metrics: Metrics) -> None:
        self._loops = loops
        self._leadership = leadership
        self._hub = hub
        self._effects = effects
        self._metrics = metrics
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start every loop."""
        self._tasks = [asyncio.create_task(self._run(loop), name=f"loop-{loop.name}") for loop in self._loops]

    async def close(self) -> None:
        """Stop every loop between two awaits and give the exclusive rights back."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for loop in self._loops:
            if loop.exclusive:
                try:
                    await self._leadership.let_go(loop.name)
                except Exception as error:  # noqa: BLE001 - the right expires by itself; stopping must go on
                    log.warning("loop_right_kept", loop=loop.name, error=repr(error))

    async def _run(self, loop: Loop) -> None:
        failures = 0
        with self._hub.subscribe(*([loop.topic] if loop.topic else [])) as hints:
            while True:
                more = False
                try:
                    if not loop.exclusive or await self._leadership.hold(loop.name, loop.interval_seconds * 3 + 5):
                        more = await loop.round()
                    failures = 0
                except Exception as error:
                    failures += 1
                    self._metrics.loop_failures.labels(loop.name).inc()
                    log.exception("loop_failed", loop=loop.name, failures=failures, error=repr(error))
                if not more:
                    await hints.changed(self._pause(loop, failures))

    def _pause(self, loop: Loop, failures: int) -> float:
        longest = min(
            loop.interval_seconds * 2 ** min(failures, 10), max(_LONGEST_PAUSE_SECONDS, loop.interval_seconds)
        )
        return longest * self._effects.random.uniform(0.8, 1.0)
