"""How far a long transfer has come, for a person at a terminal; programs and files see nothing of it."""

import sys

from ostler.cli import output
from ostler.effects import Clock

_BETWEEN_SECONDS = 0.2


class Progress:
    """A line that is written over itself, and wiped away at the end."""

    def __init__(self, name: str, total: int, clock: Clock) -> None:
        self._name = output.shown(name, 40)
        self._total = total
        self._clock = clock
        self._said_at = 0.0
        self._done = 0
        self._shown = sys.stderr.isatty()

    def advance(self, count: int) -> None:
        """Say that so many more bytes are done."""
        self._done += count
        now = self._clock.monotonic()
        if self._shown and now - self._said_at >= _BETWEEN_SECONDS:
            self._said_at = now
            share = 100 * self._done // self._total if self._total else 100
            self._write(f"{self._name}  {output.size(self._done)} of {output.size(self._total)}  {share} %")

    def end(self) -> None:
        """Leave an empty line behind."""
        if self._shown:
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
