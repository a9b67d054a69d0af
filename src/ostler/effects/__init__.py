"""The only doors to time, ids and chance, so that every test can decide all three.

Everything that asks for the time, makes an id or draws a random number gets an `Effects` from its
program's wiring. Waiting is not a door of its own: programs wait with asyncio, whose timers the
simulated loop in `ostler.testing` drives.
"""

from typing import NamedTuple

from ostler.effects.chance import Random, SourceRandom, seeded_random, system_random
from ostler.effects.clock import Clock, Micros, SystemClock
from ostler.effects.ids import Ids, SortableIds

__all__ = [
    "Clock",
    "Effects",
    "Ids",
    "Micros",
    "Random",
    "SortableIds",
    "SourceRandom",
    "SystemClock",
    "seeded_random",
    "system_effects",
    "system_random",
]


class Effects(NamedTuple):
    """What one program may know of the outside world besides its inputs."""

    clock: Clock
    ids: Ids
    random: Random


def system_effects() -> Effects:
    """The real doors: the host's clock and the kernel's random numbers."""
    clock = SystemClock()
    random = system_random()
    return Effects(clock=clock, ids=SortableIds(clock, random), random=random)
