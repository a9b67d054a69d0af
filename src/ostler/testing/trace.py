"""The fingerprint of a run, by which two runs are known to be the same.

Every step adds its number and its time, every note its text. Equal seeds must give equal fingerprints, also in another
process with another hash seed; where they do not, the simulated program depends on something that is not simulated.
"""

from collections.abc import Callable
from zlib import crc32

_FACTOR = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


class Trace:
    """Folds what happened into 64 bits; tells a listener what was noted."""

    __slots__ = ("_state", "listener")

    def __init__(self) -> None:
        self._state = 1
        self.listener: Callable[[float, str], None] | None = None

    def step(self, serial: int, seconds: float) -> None:
        self._state = ((self._state ^ serial) * _FACTOR ^ hash(seconds)) & _MASK

    def note(self, seconds: float, text: str) -> None:
        self.step(crc32(text.encode()), seconds)
        if self.listener is not None:
            self.listener(seconds, text)

    @property
    def fingerprint(self) -> str:
        return f"{self._state:016x}"
