"""Finds text in a log while it is decoded, frame by frame, so that the first hits leave at once.

Why not line by line: a log of a million lines is searched as a few hundred blocks of text with one C call to the next
hit; lines are looked at only where one is. What is searched is what a reader sees, so control sequences are taken out
first, and a hit shows the whole line as text with the places of the matches in it, counted in characters.

Ignoring case is ASCII's where the query is ASCII, and otherwise compares each letter with its upper, lower and folded
forms.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ostler.logs.visible import for_record, without_sequences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ostler.logs.frame import Frame

    Find = Callable[[int, int], tuple[int, int]]
    """(from, to) -> where the next match begins and ends, or (-1, -1)"""

LONGEST_QUERY = 1000
LONGEST_HIT = 4096
"""A longer line is shown from a little before its first match."""

_BEFORE_MATCH = 200
_LONGEST_OPEN_LINE = 1 << 20


class Hit(NamedTuple):
    """A line that matches; several matches in a line are one hit."""

    line: int
    text: str
    spans: tuple[tuple[int, int], ...]


class Search:
    """One search through one log. Feed it the log's frames in order, and ask for the rest at the end."""

    def __init__(self, query: str, *, match_case: bool = False) -> None:
        if not query or len(query) > LONGEST_QUERY or "\n" in query:
            raise ValueError(f"a query has 1 to {LONGEST_QUERY} characters and no newline")
        self._needle = query.encode("utf-8", "replace")
        self._fold = not match_case and query.isascii()
        self._pattern = None if match_case or query.isascii() else _any_case(query)
        if self._fold:
            self._needle = self._needle.lower()
        self._open_line: list[bytes] = []
        self._open_length = 0
        self._line = 1
        self._last_hit = 0

    @property
    def scanned_lines(self) -> int:
        """How many lines have been searched to their end."""
        return self._line - 1

    def start(self, line: int) -> None:
        """Begin at this line instead of the first; the next frame must begin with it or in it."""
        self._line = line

    def feed(self, frame: Frame) -> Iterator[Hit]:
        """Hits in the lines that end in this frame."""
        text = frame.text
        end = text.rfind(b"\n") + 1
        if end:
            block = b"".join((*self._open_line, text[:end])) if self._open_line else text[:end]
            self._open_line, self._open_length = [], 0
            yield from self._hits(block)
            self._line = frame.header.next_line
        if end < len(text):
            self._open_line.append(text[end:])
            self._open_length += len(text) - end
        if self._open_length > _LONGEST_OPEN_LINE:
            yield from self._shorten()

    def finish(self) -> Iterator[Hit]:
        """Hits in a last line without newline."""
        block, self._open_line, self._open_length = b"".join(self._open_line), [], 0
        yield from self._hits(block)

    def _shorten(self) -> Iterator[Hit]:
        """Search what there is of an endless line and go on with its end, in which a match may have begun."""
        block = b"".join(self._open_line)
        yield from self._hits(block)
        rest = block[-4 * len(self._needle) :]
        self._open_line, self._open_length = [rest], len(rest)

    def _hits(self, block: bytes) -> Iterator[Hit]:
        block = without_sequences(block)
        find = self._finder(block)
        line, counted, position = self._line, 0, 0
        while True:
            match, match_end = find(position, len(block))
            if match < 0:
                return
            start = block.rfind(b"\n", 0, match) + 1
            end = block.find(b"\n", match)
            end = len(block) if end < 0 else end
            line += block.count(b"\n", counted, start)
            counted = start
            matches = [(match, match_end)]
            while (match := find(matches[-1][1], end))[0] >= 0:
                matches.append(match)
            if line > self._last_hit:
                self._last_hit = line
                yield _hit(line, block[start:end], [(a - start, b - start) for a, b in matches])
            position = end

    def _finder(self, block: bytes) -> Find:
        pattern = self._pattern
        if pattern is not None:

            def find_pattern(position: int, end: int) -> tuple[int, int]:
                found = pattern.search(block, position, end)
                return found.span() if found else (-1, -1)

            return find_pattern
        haystack = block.lower() if self._fold else block
        needle, length = self._needle, len(self._needle)

        def find_needle(position: int, end: int) -> tuple[int, int]:
            found = haystack.find(needle, position, end)
            return (found, found + length) if found >= 0 else (-1, -1)

        return find_needle


def search(frames: Iterable[Frame], query: str, *, match_case: bool = False) -> Iterator[Hit]:
    """All hits in a whole log."""
    wanted = Search(query, match_case=match_case)
    for frame in frames:
        yield from wanted.feed(frame)
    yield from wanted.finish()


def _any_case(query: str) -> re.Pattern[bytes]:
    choices = [
        sorted({letter, letter.lower(), letter.upper(), letter.casefold(), letter.title()}, key=len, reverse=True)
        for letter in query
    ]
    return re.compile(
        b"".join(
            b"(?:" + b"|".join(re.escape(form.encode("utf-8", "replace")) for form in forms) + b")" for forms in choices
        ),
    )


def _hit(line: int, text: bytes, matches: list[tuple[int, int]]) -> Hit:
    opening = ""
    if len(text) > LONGEST_HIT:
        start = max(0, matches[0][0] - _BEFORE_MATCH)
        text = text[start : start + LONGEST_HIT]
        matches = [(a - start, b - start) for a, b in matches if b - start <= LONGEST_HIT]
        opening = "…" if start else ""
    if not opening and text.isascii() and (simple := text.decode()).isprintable():
        return Hit(line, simple, tuple(matches))
    shown, spans = opening, list[tuple[int, int]]()
    position = 0
    for start, end in matches:
        shown += _show(text[position:start])
        span_start = len(shown)
        shown += _show(text[start:end])
        spans.append((span_start, len(shown)))
        position = end
    return Hit(line, shown + _show(text[position:].removesuffix(b"\r")), tuple(spans))


def _show(text: bytes) -> str:
    return for_record(text.decode("utf-8", "replace"))
