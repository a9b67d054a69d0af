"""One log frame: the unit in which a log is spooled, shipped, checked and stored.

Why frames: a log must be readable at any line while it is being written, survive a torn write, and cost little. A
frame is a header of fixed size and a zstd payload that holds some text with the times and steps of its lines. Frames
simply follow each other; a log's position is always the offset in the *text*, so it stays true when small frames are
recompressed into large ones.

A frame may begin and end in the middle of a line. `runs` say for all lines of which some text is here, in order,
`(how many, time in microseconds, step)`; a line's time is when its first byte came, also in the frames that continue
it, so that each frame can be read alone. Lines are numbered from 1; `first_line` is the one that the first byte of the
text is part of.

Layout, little-endian (44 bytes, then the payload):

    0  magic "OLF"     3  version 1        4  flags (1: begins, 2: ends in mid-line)
    5  zero, 3 bytes   8  text length      12 payload length    16 newlines in the text
    20 runs            24 first offset, 8  32 first line, 8     40 crc32 of bytes 0..40 and the payload
    payload = zstd(run table + text); run table = three columns (counts u32, time steps i64, steps i32), each stored
    with all its first bytes first, then all second bytes ...: the planes are mostly zeros and vanish in compression.

Everything that is read may come from a hostile machine: each field is checked, against a cap and against the others,
before it is used, and the only exception is `FrameDamaged`.
"""

from __future__ import annotations

import struct
from itertools import accumulate
from zlib import crc32

from ostler.logs.compression import Compressor, decompress_exactly
from ostler.logs.errors import FrameDamaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Run = tuple[int, int, int]
    """(lines, time in microseconds when they began, step index)"""

    from ostler.logs.errors import DamageCode

TEXT_LIMIT = 1 << 20
RUN_LIMIT = 1 << 16
LARGEST_POSITION = (1 << 62) - 1
HEADER_LENGTH = 44

_MAGIC = b"OLF"
_VERSION = 1
_BEGINS_IN_MID_LINE = 1
_ENDS_IN_MID_LINE = 2
_FIELDS = struct.Struct("<3sBB3sIIIIQQ")
_CHECKSUM = struct.Struct("<I")
_RUN_LENGTH = 16
_LARGEST_TIME = 1 << 60


class FrameHeader:
    """What is known of a frame without decompressing it."""

    __slots__ = (
        "begins_in_mid_line",
        "ends_in_mid_line",
        "first_line",
        "first_offset",
        "newlines",
        "payload_length",
        "run_count",
        "text_length",
    )

    def __init__(
        self,
        *,
        first_offset: int,
        first_line: int,
        text_length: int,
        payload_length: int,
        newlines: int,
        run_count: int,
        begins_in_mid_line: bool,
        ends_in_mid_line: bool,
    ) -> None:
        self.first_offset: int = first_offset
        self.first_line: int = first_line
        self.text_length: int = text_length
        self.payload_length: int = payload_length
        self.newlines: int = newlines
        self.run_count: int = run_count
        self.begins_in_mid_line: bool = begins_in_mid_line
        self.ends_in_mid_line: bool = ends_in_mid_line

    @property
    def frame_length(self) -> int:
        """Bytes of the frame as stored, header included."""
        return HEADER_LENGTH + self.payload_length

    @property
    def next_offset(self) -> int:
        """Where the text of the following frame begins."""
        return self.first_offset + self.text_length

    @property
    def next_line(self) -> int:
        """The line that the first byte of the following frame is part of."""
        return self.first_line + self.newlines

    @property
    def lines(self) -> int:
        """Of how many lines some text is here."""
        return self.newlines + self.ends_in_mid_line


class Frame:
    """A decoded frame."""

    __slots__ = ("header", "runs", "text")

    def __init__(self, header: FrameHeader, text: bytes, runs: tuple[Run, ...]) -> None:
        self.header: FrameHeader = header
        self.text: bytes = text
        self.runs: tuple[Run, ...] = runs


def encode(
    text: bytes,
    runs: Sequence[Run],
    *,
    first_offset: int,
    first_line: int,
    begins_in_mid_line: bool,
    compressor: Compressor,
) -> bytes:
    """The frame's bytes.

    How many lines there are is taken from the runs: counting them again would cost a tenth of the compression. A wrong
    argument is the caller's mistake, hence a ValueError and not damage.
    """
    ends_in_mid_line = not text.endswith(b"\n")
    newlines = sum(run[0] for run in runs) - ends_in_mid_line
    header = FrameHeader(
        first_offset=first_offset,
        first_line=first_line,
        text_length=len(text),
        payload_length=0,
        newlines=newlines,
        run_count=len(runs),
        begins_in_mid_line=begins_in_mid_line,
        ends_in_mid_line=ends_in_mid_line,
    )
    fault = _fault_in_counts(header) or _fault_in_runs(header, runs)
    if fault:
        raise ValueError(fault[1])
    payload = compressor.compress(_pack_runs(runs) + text)
    fields = _FIELDS.pack(
        _MAGIC,
        _VERSION,
        _BEGINS_IN_MID_LINE * begins_in_mid_line | _ENDS_IN_MID_LINE * ends_in_mid_line,
        b"\0\0\0",
        len(text),
        len(payload),
        newlines,
        len(runs),
        first_offset,
        first_line,
    )
    return b"".join((fields, _CHECKSUM.pack(crc32(payload, crc32(fields))), payload))


def read_header(data: bytes, position: int = 0) -> FrameHeader:
    """The header at `position`, plausible in itself; the payload need not be there yet and is not checked."""
    if position < 0 or len(data) - position < HEADER_LENGTH:
        raise FrameDamaged("truncated", position, "fewer bytes than a header has")
    magic, version, flags, zero, text_length, payload_length, newlines, run_count, first_offset, first_line = (
        _FIELDS.unpack_from(data, position)
    )
    if magic != _MAGIC:
        raise FrameDamaged("bad_magic", position, "these bytes do not begin a frame")
    if version != _VERSION:
        raise FrameDamaged("bad_version", position, f"version {version} is not known here")
    if flags > (_BEGINS_IN_MID_LINE | _ENDS_IN_MID_LINE) or zero != b"\0\0\0":
        raise FrameDamaged("bad_flags", position, "unknown flags are set")
    header = FrameHeader(
        first_offset=first_offset,
        first_line=first_line,
        text_length=text_length,
        payload_length=payload_length,
        newlines=newlines,
        run_count=run_count,
        begins_in_mid_line=bool(flags & _BEGINS_IN_MID_LINE),
        ends_in_mid_line=bool(flags & _ENDS_IN_MID_LINE),
    )
    fault = _fault_in_counts(header)
    if fault:
        raise FrameDamaged(fault[0], position, fault[1])
    largest_payload = _largest_payload(text_length + run_count * _RUN_LENGTH)
    if not 0 < payload_length <= largest_payload:
        raise FrameDamaged("bad_length", position, f"a payload of {payload_length} bytes cannot be")
    return header


def read_checked_header(data: bytes, position: int = 0) -> FrameHeader:
    """The header of a frame that is wholly there and whose checksum holds; its payload is not decompressed."""
    header = read_header(data, position)
    end = position + header.frame_length
    if end > len(data):
        raise FrameDamaged("truncated", position, f"{end - len(data)} bytes of the payload are missing")
    fields_end = position + _FIELDS.size
    view = memoryview(data)
    expected = crc32(view[position + HEADER_LENGTH : end], crc32(view[position:fields_end]))
    if _CHECKSUM.unpack_from(data, fields_end)[0] != expected:
        raise FrameDamaged("bad_checksum", position, "the checksum does not match")
    return header


def decode(data: bytes, position: int = 0) -> Frame:
    """The frame at `position`, with every field proven against the text it describes."""
    header = read_checked_header(data, position)
    payload = memoryview(data)[position + HEADER_LENGTH : position + header.frame_length]
    table_length = header.run_count * _RUN_LENGTH
    raw = decompress_exactly(payload, table_length + header.text_length)
    if raw is None:
        raise FrameDamaged("bad_payload", position, "the payload does not hold what the header says")
    text = raw[table_length:]
    if text.count(b"\n") != header.newlines or text.endswith(b"\n") == header.ends_in_mid_line:
        raise FrameDamaged("bad_lines", position, "the header miscounts the lines")
    runs = _unpack_runs(raw[:table_length], header.run_count)
    fault = _fault_in_runs(header, runs)
    if fault:
        raise FrameDamaged(fault[0], position, fault[1])
    return Frame(header, text, runs)


def decode_all(data: bytes) -> Iterator[Frame]:
    """Every frame of a run of frames that must follow each other without a gap."""
    position = 0
    previous: FrameHeader | None = None
    while position < len(data):
        frame = decode(data, position)
        if previous is not None and not follows(previous, frame.header):
            raise FrameDamaged("bad_sequence", position, "the frame does not continue the one before it")
        yield frame
        previous = frame.header
        position += previous.frame_length


def follows(before: FrameHeader, after: FrameHeader) -> bool:
    """Whether the second frame is the direct continuation of the first."""
    return (
        after.first_offset == before.next_offset
        and after.first_line == before.next_line
        and after.begins_in_mid_line == before.ends_in_mid_line
    )


class Scan:
    """What of some bytes is a whole and unbroken run of frames."""

    __slots__ = ("last", "last_position", "length")

    def __init__(self, length: int, last: FrameHeader | None, last_position: int) -> None:
        self.length: int = length
        self.last: FrameHeader | None = last
        self.last_position: int = last_position


def scan(data: bytes) -> Scan:
    """The longest valid prefix and its last frame: where to cut, and go on, after a torn write."""
    position = last_position = 0
    last: FrameHeader | None = None
    while position < len(data):
        try:
            header = read_checked_header(data, position)
        except FrameDamaged:
            break
        if last is not None and not follows(last, header):
            break
        last, last_position = header, position
        position += header.frame_length
    return Scan(position, last, last_position)


def join_runs(before: list[Run], after: Iterable[Run], *, in_mid_line: bool) -> None:
    """Append runs of text that follows directly; if it continues a line, that line is counted already."""
    for count, time, step in after:
        lines = count - in_mid_line
        in_mid_line = False
        if before and before[-1][1:] == (time, step):
            before[-1] = (before[-1][0] + lines, time, step)
        elif lines:
            before.append((lines, time, step))


def _fault_in_counts(header: FrameHeader) -> tuple[DamageCode, str] | None:
    if not 0 < header.text_length <= TEXT_LIMIT:
        return "bad_length", f"a text of {header.text_length} bytes is outside 1..{TEXT_LIMIT}"
    if header.first_offset > LARGEST_POSITION or not 0 < header.first_line <= LARGEST_POSITION:
        return "bad_length", "the position is out of range"
    if header.first_line - 1 > header.first_offset:
        return "bad_lines", "there are more lines than bytes before the frame"
    if header.begins_in_mid_line and header.first_offset == 0:
        return "bad_lines", "the first frame cannot begin in mid-line"
    if header.newlines > header.text_length - header.ends_in_mid_line:
        return "bad_lines", "there are more newlines than bytes"
    if not (header.newlines or header.ends_in_mid_line):
        return "bad_lines", "a text without newline ends in mid-line"
    if not 0 < header.run_count <= min(RUN_LIMIT, header.lines):
        return "bad_runs", f"{header.run_count} runs cannot be"
    return None


def _fault_in_runs(header: FrameHeader, runs: Sequence[Run]) -> tuple[DamageCode, str] | None:
    if sum(run[0] for run in runs) != header.lines or any(run[0] <= 0 for run in runs):
        return "bad_runs", "the runs do not cover just the lines that are here"
    if any(abs(run[1]) > _LARGEST_TIME for run in runs):
        return "bad_runs", "a time is out of range"
    return None


def _largest_payload(length: int) -> int:
    return length + (length >> 7) + 128


def _pack_runs(runs: Sequence[Run]) -> bytes:
    count = len(runs)
    times = [run[1] for run in runs]
    columns = (
        (struct.pack(f"<{count}I", *[run[0] for run in runs]), 4),
        (struct.pack(f"<{count}q", *[now - before for now, before in zip(times, [0, *times], strict=False)]), 8),
        (struct.pack(f"<{count}i", *[run[2] for run in runs]), 4),
    )
    return b"".join(column[plane::width] for column, width in columns for plane in range(width))


def _unpack_runs(table: bytes, count: int) -> tuple[Run, ...]:
    columns: list[tuple[int, ...]] = []
    start = 0
    for width, letter in ((4, "I"), (8, "q"), (4, "i")):
        column = bytearray(count * width)
        for plane in range(width):
            column[plane::width] = table[start : start + count]
            start += count
        columns.append(struct.unpack(f"<{count}{letter}", column))
    counts, time_steps, steps = columns
    return tuple(zip(counts, accumulate(time_steps), steps, strict=True))
