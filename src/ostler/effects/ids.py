"""Making ids that sort by the time they were made.

An id is `<prefix>_<26 characters>`: 48 bits of milliseconds and 80 random bits in lower-case
Crockford base32. Sorting ids as text sorts them by age, so a table needs no second index for
"newest first", and rows made together lie together on disk. Ids are names, not secrets.
"""

from threading import Lock
from typing import Protocol

from ostler.effects.chance import Random
from ostler.effects.clock import Clock

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
ID_LENGTH = 26

_RANDOM_BITS = 80
_PAIRS = tuple(high + low for high in ALPHABET for low in ALPHABET)
_SHIFTS = tuple(range(120, -1, -10))
_LIMIT = 1 << 128


class Ids(Protocol):
    """Names new things."""

    def new(self, prefix: str) -> str:
        """A fresh id; within one process every id sorts after all earlier ones."""
        ...


class SortableIds:
    """Ids from a clock and random bits; safe to share between threads.

    When the clock stands still or jumps back, the next id is the last one plus one: order within
    the process is worth more than the exactness of the time in the id.
    """

    __slots__ = ("_clock", "_last", "_lock", "_random")

    def __init__(self, clock: Clock, random: Random) -> None:
        self._clock = clock
        self._random = random
        self._last = 0
        self._lock = Lock()

    def new(self, prefix: str) -> str:
        milliseconds = self._clock.now() // 1000
        value = milliseconds << _RANDOM_BITS | int.from_bytes(self._random.randbytes(10), "big")
        with self._lock:
            value = self._last = max(value % _LIMIT, self._last + 1)
        return prefix + "_" + "".join([_PAIRS[value >> shift & 1023] for shift in _SHIFTS])
