"""Running a scenario in virtual time with seeded chance."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ostler.effects import Effects, Micros, SortableIds, seeded_random
from ostler.testing.run import run

START_MICROS = 1_800_000_000_000_000


class LoopClock:
    """The clock of the simulated loop; ``skew_micros`` sets the wall clock wrong."""

    def __init__(self) -> None:
        self.skew_micros = 0

    def now(self) -> Micros:
        return Micros(START_MICROS + self.skew_micros + int(asyncio.get_running_loop().time() * 1_000_000))

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


def simulated_effects(seed: int = 1) -> Effects:
    clock, random = LoopClock(), seeded_random(seed)
    return Effects(clock, SortableIds(clock, random), random)


def simulate(scenario: Callable[[], Coroutine[Any, Any, None]], seed: int = 1) -> None:
    """Run to the end; whatever fails unseen fails the test."""
    run(seed, scenario)
