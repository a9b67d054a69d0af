"""Marks and colours of a run at the terminal; colour is never the only sign, and ``NO_COLOR`` is obeyed."""

from collections.abc import Mapping
from typing import Final

from ostler.cli.local_run.happenings import Ending
from ostler.logs.visible import for_page, plain

MARKS: Final[dict[Ending, str]] = {"success": "✓", "failure": "✗", "cancelled": "⊘", "skipped": "-"}
_COLOURS: Final[dict[Ending, str]] = {"success": "32", "failure": "31", "cancelled": "33", "skipped": "90"}
_LEVELS: Final = {"error": "31", "warning": "33", "notice": "36"}


HIDDEN: Final = "##[endgroup]"
"""A line that marks something in a log and says nothing to people."""


class Style:
    """Whether there are colours."""

    def __init__(self, *, coloured: bool) -> None:
        self._coloured = coloured

    def mark(self, ending: Ending) -> str:
        """Return the mark of an end."""
        return self.paint(MARKS[ending], _COLOURS[ending])

    def level(self, level: str) -> str:
        """Return the word of an annotation's level."""
        return self.paint(level, _LEVELS.get(level, "0"))

    def faint(self, text: str) -> str:
        """Return text that matters less."""
        return self.paint(text, "90")

    def strong(self, text: str) -> str:
        """Return text that matters more."""
        return self.paint(text, "1")

    def paint(self, text: str, colour: str) -> str:
        """Return text in a colour, if there are any."""
        return f"\x1b[{colour}m{text}\x1b[0m" if self._coloured else text

    def line(self, text: str) -> str:
        """Return a line of a log as a terminal may have it: its own colours stay where there are any."""
        if text.startswith("##["):
            kind, _, text = text.removeprefix("##[").partition("]")
            if kind in _LEVELS:
                return f"{self.level(kind)}: {plain(text.encode())}"
            return self.faint(f"{kind}: " if kind == "debug" else "") + self.strong(plain(text.encode()))
        return (for_page if self._coloured else plain)(text.encode())


def coloured(environment: Mapping[str, str], *, terminal: bool) -> bool:
    """Whether colours are welcome."""
    if environment.get("NO_COLOR"):
        return False
    return terminal or environment.get("FORCE_COLOR", "0") not in ("", "0")


def duration(seconds: float) -> str:
    """Return a length of time as people say it."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{rest}s" if not minutes else f"{minutes}m {rest:02}s"
