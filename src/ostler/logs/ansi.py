"""Where terminal control sequences stand in the output, so that text can be compared as a reader sees it.

Why by hand: the sequences are found by splitting at their introducer, which is as fast as a regular expression and
saves the supervisor the memory of the `re` module. Only CSI sequences (colours, styles, cursor movement) count: they
are what tools put in the middle of a word.
"""

from __future__ import annotations

from bisect import bisect_right

INTRODUCER = b"\x1b["
LONGEST_SEQUENCE = 64
"""Anything longer is no control sequence but text, so that an endless one cannot be waited for."""

_FEW_KINDS = 12
_END = 2048
_PARAMETERS = b"0123456789:;<=>?"
_INTERMEDIATES = b" !\"#$%&'()*+,-./"


class Plain:
    """The text without its control sequences, and where each part of it came from."""

    __slots__ = ("_data", "_end", "_origins", "_starts", "text")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._end: tuple[int, Plain] | None = None
        self._starts: list[int] = []
        self._origins: list[int] = []
        few_kinds = _without_few_kinds(data)
        self.text: bytes = self._parse() if few_kinds is None else few_kinds

    def origin(self, position: int) -> int:
        """Where the byte at this position of `text` stands in the original."""
        if not self._starts:
            if len(self._data) > 2 * _END:
                start, end = self._parsed_end()
                skipped = len(self.text) - len(end.text)
                if position >= skipped:
                    return start + end.origin(position - skipped)
            self._parse()
        part = bisect_right(self._starts, position) - 1
        return self._origins[part] + position - self._starts[part]

    def _parsed_end(self) -> tuple[int, Plain]:
        """The last part alone: nearly always only the beginning of a secret there has to be placed."""
        if self._end is None:
            start = sequence_around(self._data, len(self._data) - _END)
            self._end = (start, Plain(self._data[start:]))
        return self._end

    def _parse(self) -> bytes:
        pieces = self._data.split(INTRODUCER)
        kept = [pieces[0]]
        self._starts, self._origins = [0], [0]
        length = raw = len(pieces[0])
        for piece in pieces[1:]:
            end = _sequence_end(piece)
            if end < 0:
                kept.append(INTRODUCER)
                length += len(INTRODUCER)
                end = 0
            else:
                self._starts.append(length)
                self._origins.append(raw + len(INTRODUCER) + end)
            kept.append(piece[end:])
            length += len(piece) - end
            raw += len(INTRODUCER) + len(piece)
        return b"".join(kept)


def _without_few_kinds(data: bytes) -> bytes | None:
    """The text, taken apart three times as fast, if it has only a few kinds of sequences and no broken one."""
    text, length, introducers = data, len(data), data.count(INTRODUCER)
    for _ in range(_FEW_KINDS):
        start = text.find(INTRODUCER)
        if start < 0:
            break
        end = _sequence_end(text[start + len(INTRODUCER) : start + LONGEST_SEQUENCE])
        if end < 0:
            return None
        sequence = text[start : start + len(INTRODUCER) + end]
        times = data.count(sequence)
        introducers -= times
        length -= times * len(sequence)
        text = text.replace(sequence, b"")
    # Each introducer began one of the sequences, and nothing came into being where one was taken out.
    return text if introducers == 0 and len(text) == length else None


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
