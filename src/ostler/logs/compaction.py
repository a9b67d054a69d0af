"""Recompresses many small frames into few large ones, for storage.

Why: live frames are as small as the output's pauses, which costs three times the space. Text, times and steps stay
exactly as they are; only the cuts between frames vanish, so offsets and line numbers stay true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ostler.logs.compression import Compressor
from ostler.logs.frame import RUN_LIMIT, TEXT_LIMIT, Frame, decode_all, encode, join_runs
from ostler.logs.index import SegmentIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ostler.logs.frame import Run

STORED_LEVEL = 3
STORED_TEXT = TEXT_LIMIT


class Compacted(NamedTuple):
    """The new frames and their index."""

    frames: bytes
    segment_index: SegmentIndex


def compact(frames: bytes, *, level: int = STORED_LEVEL, frame_text: int = STORED_TEXT) -> Compacted:
    """The same log in frames of up to `frame_text` bytes. The frames given must be valid and follow each other."""
    compressor = Compressor(level)
    packed = b"".join(_join(group, compressor) for group in _groups(decode_all(frames), frame_text))
    return Compacted(packed, SegmentIndex.of(packed))


def _groups(frames: Iterator[Frame], frame_text: int) -> Iterator[list[Frame]]:
    group: list[Frame] = []
    length = runs = 0
    for frame in frames:
        if group and (length + len(frame.text) > frame_text or runs + len(frame.runs) > RUN_LIMIT):
            yield group
            group, length, runs = [], 0, 0
        group.append(frame)
        length += len(frame.text)
        runs += len(frame.runs)
    if group:
        yield group


def _join(group: list[Frame], compressor: Compressor) -> bytes:
    runs: list[Run] = []
    for place, frame in enumerate(group):
        join_runs(runs, frame.runs, in_mid_line=place > 0 and frame.header.begins_in_mid_line)
    first = group[0].header
    return encode(
        b"".join(frame.text for frame in group),
        runs,
        first_offset=first.first_offset,
        first_line=first.first_line,
        begins_in_mid_line=first.begins_in_mid_line,
        compressor=compressor,
    )
