"""Reading time, in the one unit that storage uses.

Wall-clock time is an integer of microseconds since 1970 UTC. It may jump; intervals are measured
with `monotonic`, which does not. What to do about skew between machines is left to the callers:
durations, never timestamps, cross the wire.
"""

import time
from typing import NewType, Protocol

Micros = NewType("Micros", int)


class Clock(Protocol):
    """Reads time; never waits."""

    def now(self) -> Micros:
        """Wall-clock time in microseconds since 1970 UTC; may jump in both directions."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back within one process."""
        ...


class SystemClock:
    """The clock of this host."""

    __slots__ = ()

    def now(self) -> Micros:
        return Micros(time.time_ns() // 1000)

    def monotonic(self) -> float:
        return time.monotonic()
