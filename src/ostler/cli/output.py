"""How commands print: data to stdout, everything else to stderr, colour only where a person looks."""

import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence

import msgspec

from ostler.logs.visible import for_record

_COLOURS = {
    "succeeded": "32",
    "healthy": "32",
    "idle": "32",
    "running": "34",
    "busy": "34",
    "failed": "31",
    "error": "31",
    "cancelled": "33",
    "cancelling": "33",
    "queued": "36",
    "offline": "90",
    "inactive": "90",
}
_MARKS = {"succeeded": "✓", "failed": "✗", "running": "●", "queued": "○", "cancelled": "⊘", "cancelling": "⊘"}


def print_json(value: object) -> None:
    """Print a message as indented JSON."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def print_line(text: str) -> None:
    """Print a line of data."""
    sys.stdout.write(text + "\n")


def shown(text: str, limit: int = 0) -> str:
    """Return what somebody else wrote as one line that no terminal obeys, shortened to the limit if there is one."""
    safe = for_record(text)
    return f"{safe[: limit - 1]}…" if limit and len(safe) > limit else safe


def count(number: int, noun: str) -> str:
    """Return a number with its noun in the right form."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def say(text: str) -> None:
    """Tell the person something that is not data."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def state(word: str, *, marked: bool = False) -> str:
    """Return a state's word in its colour, with a mark so that colour is never the only sign."""
    text = f"{_MARKS.get(word, '·')} {word}" if marked else word
    colour = _COLOURS.get(word)
    return f"\x1b[{colour}m{text}\x1b[0m" if colour and _coloured() else text


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, empty: str) -> None:
    """Print aligned columns, or to stderr what to do when there is nothing to show."""
    body = [list(row) for row in rows]
    if not body:
        say(empty)
        return
    widths = [max(columns(row[index]) for row in (headings, *body)) for index in range(len(headings))]
    for row in (headings, *body):
        cells = [cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)]
        print_line("  ".join(cells).rstrip())


def ago(micros: int | None, now: int) -> str:
    """Return how long ago something was, in the largest fitting unit."""
    if micros is None:
        return "-"
    return span(now - micros) + " ago"


def span(micros: int) -> str:
    """Return a length of time in at most two units."""
    seconds = max(0, micros) // 1_000_000
    if seconds < 60:
        return f"{max(0, micros) / 1_000_000:.1f}s" if seconds < 10 else f"{seconds}s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}m {seconds}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes}m" if hours < 48 else f"{hours // 24}d"


def size(count: int) -> str:
    """Return a number of bytes in the largest fitting unit."""
    amount, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"


def _coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    length, inside = 0, False
    for character in text:
        if character == "\x1b":
            inside = True
        elif inside:
            inside = character != "m"
        elif not unicodedata.combining(character):
            length += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
    return length
