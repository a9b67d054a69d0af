"""Time for the supervisor: the same two readings as ``ostler.effects``, without the random numbers beside them.

Importing ``ostler.effects`` costs 3 MB, a fifth of a supervisor. Only real jobs run here; the simulator replaces
supervisors as a whole and never needs to decide their time.
"""

from __future__ import annotations

import time


def now_micros() -> int:
    """Wall-clock time in microseconds since 1970 UTC."""
    return time.time_ns() // 1000  # noqa: TID251 - see the module


def now_ms() -> int:
    """Milliseconds that only grow, for measuring and waiting."""
    return time.monotonic_ns() // 1_000_000  # noqa: TID251 - see the module
