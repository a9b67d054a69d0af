"""Where terminal control sequences stand in the output, so that text can be compared as a reader sees it.

Why by hand: the sequences are found by splitting at their introducer, which is as fast as a regular expression and
saves the supervisor the memory of the `re` module. Only CSI sequences (colours, styles, cursor movement) count: they
are what tools put in the middle of a word.
"""

from __future__ import annotations

INTRODUCER = b"\x1b["
LONGEST_SEQUENCE = 64
"""Anything longer is no control sequence but text, so that an endless one cannot be waited for."""

_PARAMETERS = b"0123456789:;<=>?"
_INTERMEDIATES = b" !\"#$%&'()*+,-./"


class Plain:
    """The text without its control sequences, and where each part of it came from."""

    __slots__ = ("_origins", "_starts", "text")

    def __init__(self, text: bytes, starts: list[int], origins: list[int]) -> None:
        self.text: bytes = text
        self._starts = starts
        self._origins = origins

    def origin(self, position: int) -> int:
        """Where the byte at this position of `text` stands in the original."""
        low, high = 0, len(self._starts)
        while high - low > 1:
            middle = (low + high) // 2
            if self._starts[middle] <= position:
                low = middle
            else:
                high = middle
        return self._origins[low] + position - self._starts[low]


def strip(data: bytes) -> Plain:
    """The data without its complete control sequences."""
    pieces = data.split(INTRODUCER)
    kept = [pieces[0]]
    starts, origins = [0], [0]
    length = raw = len(pieces[0])
    for piece in pieces[1:]:
        end = _sequence_end(piece)
        if end < 0:
            kept.append(INTRODUCER)
            length += len(INTRODUCER)
            end = 0
        else:
            starts.append(length)
            origins.append(raw + len(INTRODUCER) + end)
        kept.append(piece[end:])
        length += len(piece) - end
        raw += len(INTRODUCER) + len(piece)
    return Plain(b"".join(kept), starts, origins)


def unfinished(data: bytes) -> int:
    """Where a control sequence begins that the end of the data cuts short; the length of the data if none does."""
    if data.endswith(b"\x1b"):
        return len(data) - 1
    start = data.rfind(INTRODUCER, max(0, len(data) - LONGEST_SEQUENCE + 1))
    if start < 0:
        return len(data)
    rest = data[start + len(INTRODUCER) :].lstrip(_PARAMETERS).lstrip(_INTERMEDIATES)
    return len(data) if rest else start


def sequence_around(data: bytes, position: int) -> int:
    """Where the control sequence begins that the position is inside of; the position itself if it is in none."""
    start = data.rfind(b"\x1b", max(0, position - LONGEST_SEQUENCE), position)
    if start < 0 or data[start : start + 2] != INTRODUCER:
        return position
    end = _sequence_end(data[start + 2 : start + LONGEST_SEQUENCE])
    return start if start + len(INTRODUCER) + end > position and end >= 0 else position


def _sequence_end(piece: bytes) -> int:
    """Length of the sequence that the bytes after an introducer begin with, or -1 if they begin none."""
    rest = piece.lstrip(_PARAMETERS).lstrip(_INTERMEDIATES)
    end = len(piece) - len(rest) + 1
    if rest and 0x40 <= rest[0] <= 0x7E and end <= LONGEST_SEQUENCE - len(INTRODUCER):
        return end
    return -1
