"""Where in a run of stored frames a line or an offset is, so that reading it takes one small read.

Why apart from the frames: the headers lie between the payloads, and finding a line by walking them would read the
whole log. A segment's index is 24 bytes a frame and is kept next to the segment's row.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import NamedTuple

from ostler.logs.errors import FrameDamaged
from ostler.logs.frame import FrameHeader, follows, read_checked_header

_ENTRY = struct.Struct("<QQQ")
_LARGEST = (1 << 62) - 1


class Extent(NamedTuple):
    """A part of the stored bytes: whole frames."""

    position: int
    length: int


class SegmentIndex:
    """The index of one run of frames; `position` counts from its first byte."""

    __slots__ = ("_offsets", "_places", "_positions")

    def __init__(self, entries: list[tuple[int, int, int]]) -> None:
        """Take (position, first offset, place) of each frame, and of the end as the last entry.

        The place is twice the first line, plus one if the line began before: places are in the order of the text.
        """
        self._positions = [entry[0] for entry in entries]
        self._offsets = [entry[1] for entry in entries]
        self._places = [entry[2] for entry in entries]

    @classmethod
    def of(cls, frames: bytes) -> SegmentIndex:
        """The index of these frames, which must be valid and follow each other."""
        entries: list[tuple[int, int, int]] = []
        position = 0
        header: FrameHeader | None = None
        while position < len(frames):
            before, header = header, read_checked_header(frames, position)
            if before is not None and not follows(before, header):
                raise FrameDamaged("bad_sequence", position, "the frame does not continue the one before it")
            entries.append((position, header.first_offset, 2 * header.first_line + header.begins_in_mid_line))
            position += header.frame_length
        if header is None:
            raise FrameDamaged("truncated", 0, "there is no frame")
        return cls([*entries, (position, header.next_offset, 2 * header.next_line + header.ends_in_mid_line)])

    @classmethod
    def from_bytes(cls, data: bytes) -> SegmentIndex:
        """An index that was stored with `to_bytes`."""
        if len(data) % _ENTRY.size or len(data) < 2 * _ENTRY.size:
            raise FrameDamaged("bad_index", 0, "an index has whole entries, at least two")
        entries = list(_ENTRY.iter_unpack(data))
        for before, after in pairwise(entries):
            if not (before[0] < after[0] <= _LARGEST and before[1] < after[1] <= _LARGEST and before[2] <= after[2]):
                raise FrameDamaged("bad_index", 0, "the entries are not in order")
        if entries[0][0] != 0 or entries[0][2] <= 1 or entries[-1][2] > _LARGEST:
            raise FrameDamaged("bad_index", 0, "the entries are out of range")
        return cls([(position, offset, place) for position, offset, place in entries])

    def to_bytes(self) -> bytes:
        return b"".join(_ENTRY.pack(*entry) for entry in zip(self._positions, self._offsets, self._places, strict=True))

    @property
    def frames(self) -> int:
        return len(self._positions) - 1

    @property
    def first_offset(self) -> int:
        return self._offsets[0]

    @property
    def next_offset(self) -> int:
        """Where the text after the segment begins."""
        return self._offsets[-1]

    @property
    def first_line(self) -> int:
        """The line that the segment's first byte is part of."""
        return self._places[0] >> 1

    @property
    def next_line(self) -> int:
        """The line that the first byte after the segment is part of."""
        return self._places[-1] >> 1

    def find_lines(self, first: int, count: int) -> Extent:
        """The frames that hold all text of these lines, as far as it is in this segment; empty if none of it is."""
        if count <= 0 or 2 * first >= self._places[-1] or first + count <= self.first_line:
            return Extent(0, 0)
        begin = max(0, bisect_right(self._places, 2 * first) - 1)
        end = bisect_right(self._places, 2 * (first + count) - 1, hi=self.frames)
        return self._extent(begin, end)

    def find_offset(self, offset: int, length: int = _LARGEST) -> Extent:
        """The frames that hold this part of the text, as far as it is in this segment; empty if none of it is."""
        if length <= 0 or offset >= self.next_offset or offset + length <= self.first_offset:
            return Extent(0, 0)
        begin = max(0, bisect_right(self._offsets, offset) - 1)
        end = bisect_left(self._offsets, offset + length, hi=self.frames)
        return self._extent(begin, max(end, begin + 1))

    def _extent(self, begin: int, end: int) -> Extent:
        return Extent(self._positions[begin], self._positions[end] - self._positions[begin])
