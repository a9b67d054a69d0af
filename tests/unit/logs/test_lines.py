"""Writer, reader, index and compaction together: each line comes back with the time and the step it began with."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ostler.logs.compaction import compact
from ostler.logs.errors import FrameDamaged
from ostler.logs.frame import decode_all
from ostler.logs.index import Extent, SegmentIndex
from ostler.logs.reader import lines_from_offset, read_lines
from ostler.logs.writer import RUN_RESOLUTION_MICROS, LogWriter
from tests.unit.logs.made_logs import WRITES, Expected, Written, frames_of, many_frames, text_of


def expected_lines(writes: list[Written]) -> list[Expected]:
    """Byte by byte, as simply as can be."""
    lines: list[Expected] = []
    last: tuple[int, int] | None = None
    for written in writes:
        for place in range(len(written.data)):
            letter = written.data[place : place + 1]
            if not lines or lines[-1].ended:
                now = (written.time_micros, written.step)
                close = last is not None and last[1] == now[1] and 0 <= now[0] - last[0] < RUN_RESOLUTION_MICROS
                last = last if close and last is not None else now
                lines.append(Expected(b"", *last, ended=False))
            line = lines[-1]
            ended = letter == b"\n"
            lines[-1] = line._replace(text=line.text if ended else line.text + letter, ended=ended)
    return lines


def lines_read(frames: bytes, first: int = 1, count: int = 1000) -> list[Expected]:
    return [Expected(line.text, line.time_micros, line.step, line.ended) for line in read_lines(frames, first, count)]


@given(writes=WRITES, frame_text=st.integers(1, 30))
def test_lines_come_back(writes: list[Written], frame_text: int) -> None:
    frames = frames_of(writes, frame_text)
    assert b"".join(frame.text for frame in decode_all(frames)) == text_of(writes)
    assert [line.text for line in read_lines(frames, 1, 1000)] == [line.text for line in expected_lines(writes)]
    assert lines_read(frames) == expected_lines(writes)


@given(writes=WRITES, first=st.integers(1, 12), count=st.integers(1, 6), frame_text=st.integers(1, 30))
def test_the_index_finds_just_the_frames_of_a_range(
    writes: list[Written], first: int, count: int, frame_text: int
) -> None:
    frames = frames_of(writes, frame_text)
    if not frames:
        return
    index = SegmentIndex.from_bytes(SegmentIndex.of(frames).to_bytes())
    position, length = index.find_lines(first, count)
    part = frames[position : position + length]
    assert lines_read(part, first, count) == expected_lines(writes)[first - 1 : first - 1 + count]
    if part:
        inner = list(decode_all(part))
        assert inner[0].header.next_line >= first
        assert inner[-1].header.first_line < first + count


@given(writes=WRITES, offset=st.integers(0, 80), length=st.integers(1, 20))
def test_the_index_finds_just_the_frames_of_an_offset(writes: list[Written], offset: int, length: int) -> None:
    frames = frames_of(writes)
    if not frames:
        return
    position, size = SegmentIndex.of(frames).find_offset(offset, length)
    inner = list(decode_all(frames[position : position + size]))
    text = b"".join(frame.text for frame in inner)
    wanted = text_of(writes)[offset : offset + length]
    assert bool(inner) == bool(wanted)
    if inner:
        skip = offset - inner[0].header.first_offset
        assert text[skip : skip + length] == wanted
        assert 0 <= skip < len(inner[0].text)


@given(writes=WRITES, frame_text=st.integers(1, 60))
def test_compaction_changes_nothing_but_the_cuts(writes: list[Written], frame_text: int) -> None:
    frames = frames_of(writes)
    if not frames:
        return
    compacted = compact(frames, frame_text=frame_text)
    assert b"".join(frame.text for frame in decode_all(compacted.frames)) == text_of(writes)
    assert lines_read(compacted.frames) == expected_lines(writes)
    assert compacted.segment_index.next_offset == len(text_of(writes))
    assert compact(compacted.frames, frame_text=frame_text).frames == compacted.frames


@given(writes=WRITES, offset=st.integers(0, 80))
def test_a_follower_gets_what_it_lacks_of_a_frame(writes: list[Written], offset: int) -> None:
    for frame in decode_all(frames_of(writes)):
        lines = lines_from_offset(frame, offset)
        text = b"".join(line.text + b"\n" * line.ended for line in lines)
        assert text == frame.text[max(0, offset - frame.header.first_offset) :]
        if lines:
            before = text_of(writes)[: max(offset, frame.header.first_offset)]
            assert lines[0].number == before.count(b"\n") + 1
            assert lines[0].begun == (not before or before.endswith(b"\n"))


def test_a_line_that_began_before_the_frames_says_so() -> None:
    frames = frames_of([Written(b"abc", 5, 1, flush=True), Written(b"def\ng", 2000, 2, flush=True)])
    second = next(decode_all(frames)).header.frame_length
    lines = read_lines(frames[second:], 1, 10)
    assert [(line.text, line.begun, line.ended, line.time_micros) for line in lines] == [
        (b"def", False, True, 5),
        (b"g", True, False, 2000),
    ]


def test_steps_never_share_a_line() -> None:
    writer = LogWriter()
    frames = writer.end_line(1, 0) + writer.write(b"no newline", 1, 0) + writer.end_line(2, 0)
    frames += writer.write(b"next", 3, 1) + writer.flush()
    assert lines_read(frames) == [Expected(b"no newline", 1, 0, ended=True), Expected(b"next", 3, 1, ended=False)]


def test_an_endless_line_is_cut() -> None:
    writer = LogWriter(frame_text=1000)
    frames = writer.write(b"x" * 10_000 + b"\nshort\n", 1, 1) + writer.flush()
    first, second = read_lines(frames, 1, 2, longest_line=2500)
    assert (first.text, first.cut, first.ended) == (b"x" * 2500, 7500, True)
    assert (second.text, second.cut) == (b"short", 0)


def test_big_chunks_become_full_frames_and_no_flush_is_empty() -> None:
    writer = LogWriter(frame_text=1000)
    assert writer.flush() == b""
    frames = writer.write(b"y" * 2500, 1, 1)
    assert [len(frame.text) for frame in decode_all(frames)] == [1000, 1000]
    assert (writer.pending, writer.offset, writer.in_mid_line) == (500, 2500, True)


def test_one_small_read_serves_any_line_of_a_large_log() -> None:
    text, frames = many_frames(50_000)
    compacted = compact(frames)
    for first in (1, 777, 25_000, 49_990):
        position, length = compacted.segment_index.find_lines(first, 10)
        lines = read_lines(compacted.frames[position : position + length], first, 10)
        assert [line.text for line in lines] == text.split(b"\n")[first - 1 : first + 9]
        assert len(list(decode_all(compacted.frames[position : position + length]))) <= 2
    assert len(compacted.frames) < len(frames)


def test_outside_of_the_segment_there_is_nothing_to_read() -> None:
    index = SegmentIndex.of(many_frames(10)[1])
    nothing = Extent(0, 0)
    assert index.find_lines(11, 5) == index.find_lines(1, 0) == index.find_offset(index.next_offset) == nothing
    assert (index.first_line, index.next_line, index.first_offset, index.frames) == (1, 11, 0, 1)


@given(
    data=st.binary(max_size=100)
    | st.lists(st.integers(0, 5), max_size=9).map(
        lambda numbers: b"".join(number.to_bytes(8, "little") for number in numbers)
    )
)
def test_a_damaged_index_is_found_out(data: bytes) -> None:
    try:
        index = SegmentIndex.from_bytes(data)
    except FrameDamaged:
        return
    assert index.find_lines(1, 3).length >= 0
    assert index.find_offset(1, 3).length >= 0


def test_an_index_of_nothing_or_of_a_gap_is_damage() -> None:
    frames = many_frames(10)[1]
    with pytest.raises(FrameDamaged, match="no frame"):
        SegmentIndex.of(b"")
    with pytest.raises(FrameDamaged, match="does not continue"):
        SegmentIndex.of(frames + frames)
