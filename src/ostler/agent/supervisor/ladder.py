"""The way to end a command that may not want to end: SIGINT, then SIGTERM, then the kill of everything.

Pure: it is told the time and answers what is due, so every interleaving can be tested without a process. Beginning
twice changes nothing; a kill overtakes a gentle beginning, never the other way round.
"""

from __future__ import annotations

REST, INTERRUPT, TERMINATE, KILL = range(4)


class Ladder:
    """One climb. ``due`` answers each rung once."""

    __slots__ = ("_deadline", "_graces", "_rung")

    def __init__(self, interrupt_grace_ms: int, terminate_grace_ms: int) -> None:
        self._graces: tuple[int, int, int] = (0, interrupt_grace_ms, terminate_grace_ms)
        self._rung: int = REST
        self._deadline: int | None = None

    @property
    def begun(self) -> bool:
        """Whether anyone asked for the end."""
        return self._rung != REST or self._deadline is not None

    @property
    def deadline(self) -> int | None:
        """When ``due`` will have an answer next."""
        return self._deadline

    def begin(self, now: int) -> None:
        """Ask for a gentle end."""
        if not self.begun:
            self._deadline = now

    def kill(self, now: int) -> None:
        """Ask for the end at once."""
        if self._rung != KILL:
            self._rung, self._deadline = TERMINATE, now

    def due(self, now: int) -> int:
        """Return the rung that is to be taken now, or ``REST``."""
        if self._deadline is None or now < self._deadline:
            return REST
        self._rung += 1
        self._deadline = None if self._rung == KILL else now + self._graces[self._rung]
        return self._rung

    def reset(self) -> None:
        """Forget the climb: the command it was for has ended."""
        self._rung, self._deadline = REST, None
