"""Logs as the control plane keeps them: appended frame by frame, sealed into blobs, read from anywhere.

A log is a run of segments (in the blob store) followed by a tail of chunks (rows). Both hold frames, and a position
is an offset in the uncompressed text, so a reader never cares where one ends and the other begins. Nothing here
holds a whole log, nor the whole text of what a runner sent at once: a few bytes of zstd may be gigabytes. Frames are
decoded a few at a time, and those that were not asked for are passed by their headers.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Final, NamedTuple

from sqlalchemy import Connection

from ostler.blobs import Blobs
from ostler.domain.job import JobState
from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.logs.compaction import compact
from ostler.logs.errors import FrameDamaged
from ostler.logs.frame import LARGEST_POSITION, Frame, FrameHeader, decode, decode_all, read_header
from ostler.logs.reader import Line, continued, lines_of
from ostler.protocol.problem import problem
from ostler.server.call import Refusal
from ostler.server.metrics import Metrics
from ostler.store import jobs, logs
from ostler.store.database import Database
from ostler.store.logs import Appended, Chunk, OffsetExpected, Position, Segment

_INLINE_TEXT = 256 * 1024
_BATCH_TEXT = 1024 * 1024
_CHUNKS_AT_ONCE = 256
_SEAL_CHUNKS = 4096
LONGEST_LINE: Final = 8_000
"""Of a longer line replies hold only the beginning; the raw log has it whole."""


class _Parts(NamedTuple):
    segments: list[Segment]
    chunks: list[Chunk]


class Checked(NamedTuple):
    """Frames that may be stored, and how many lines have begun up to their end."""

    chunk: Chunk
    lines: int


_Wanted = Callable[[FrameHeader], bool]


class LogStore:
    """See the module."""

    def __init__(self, database: Database, blobs: Blobs, effects: Effects, metrics: Metrics) -> None:
        self._database = database
        self._blobs = blobs
        self._effects = effects
        self._metrics = metrics

    async def append(
        self, runner_id: str, job_id: str, fence: int, offset: int, frames: bytes
    ) -> Appended | OffsetExpected | Refused:
        """Check every frame and add them if they continue the log."""
        accepted = await checked(offset, frames)
        now = self._effects.clock.now()
        outcome = await self._database.run(logs.append, runner_id, job_id, fence, accepted.chunk, accepted.lines, now)
        if isinstance(outcome, Appended) and not outcome.repeated:
            self._metrics.log_bytes.inc(accepted.chunk.length)
        return outcome

    async def position(self, job_id: str, fence: int = 0) -> Position | None:
        """Return how large an attempt's log is; the latest attempt's without a fence."""
        return await self._database.read(logs.position, job_id, fence)

    async def job_state(self, job_id: str) -> JobState | None:
        """Return where the log's job stands; nothing for one that is not known."""
        return await self._database.read(jobs.state, job_id)

    async def lines(self, job_id: str, fence: int, first: int, count: int) -> list[Line]:
        """Return a range of lines, as far as they exist."""
        last = first + count - 1
        parts = await self._database.read(_parts_of_lines, job_id, fence, first, last)
        found: list[Line] = []
        async for frame in self._decoded(parts, lambda header: header.first_line <= last and header.next_line >= first):
            fresh = lines_of((frame,), first, count, LONGEST_LINE)
            if found and fresh and found[-1].number == fresh[0].number:
                found[-1] = continued(found[-1], fresh.pop(0), LONGEST_LINE)
            found += fresh
        return found

    async def frames_from(
        self, job_id: str, fence: int, offset: int = 0, end: int = LARGEST_POSITION
    ) -> AsyncGenerator[Frame]:
        """Yield the frames from the one that holds the offset on, to ``end`` or to the end of what is stored now."""
        while offset < end:
            before = reached = offset
            parts = await self._database.read(_parts_from, job_id, fence, offset)
            async for frame in self._decoded(parts, lambda header, begin=before: header.next_offset > begin):
                reached = frame.header.next_offset
                yield frame
            if reached == before:
                return
            offset = reached

    async def seal(self, job_id: str, fence: int) -> None:
        """Move the tail into the blob store, in segments of a readable size. Doing it twice is harmless."""
        while True:
            position = await self._database.read(logs.position, job_id, fence)
            if position is None or position.sealed >= position.bytes:
                return
            chunks = await self._database.read(logs.chunks_from, job_id, fence, position.sealed, _SEAL_CHUNKS)
            part = _stretch(chunks, position.sealed)
            last = part and part[-1].first_offset + part[-1].length >= position.bytes
            if not part or (last and not position.complete and _length(part) < logs.SEGMENT_BYTES):
                return
            await self._seal(job_id, fence, part)

    async def _seal(self, job_id: str, fence: int, part: list[Chunk]) -> None:
        packed = await asyncio.to_thread(compact, b"".join(chunk.frames for chunk in part))
        segment = Segment(
            first_offset=part[0].first_offset,
            length=_length(part),
            first_line=part[0].first_line,
            newlines=sum(chunk.newlines for chunk in part),
            blob_key=f"logs/{job_id}/{fence}/{part[0].first_offset:020d}-{_length(part)}",
            stored_bytes=len(packed.frames),
        )
        await self._blobs.put(segment.blob_key, packed.frames)
        await self._database.run(logs.seal, job_id, fence, segment, self._effects.clock.now())

    async def _decoded(self, parts: _Parts, wanted: _Wanted) -> AsyncGenerator[Frame]:
        """Yield the frames of all parts once, in order; a tail that was sealed meanwhile is in both."""
        reached = 0
        for segment in parts.segments:
            async for frame in _frames(await self._blobs.get(segment.blob_key), wanted):
                yield frame
            reached = segment.first_offset + segment.length
        for chunk in parts.chunks:
            if chunk.first_offset + chunk.length <= reached:
                continue
            async for frame in _frames(chunk.frames, wanted):
                if frame.header.first_offset >= reached:
                    yield frame
            reached = chunk.first_offset + chunk.length


# Chunks are read before segments: what is sealed between the two statements is then seen twice, and never not at all.


def _parts_of_lines(connection: Connection, job_id: str, fence: int, first: int, last: int) -> _Parts:
    chunks = logs.chunks_of_lines(connection, job_id, fence, first, last)
    return _Parts(logs.segments_of_lines(connection, job_id, fence, first, last), chunks)


def _parts_from(connection: Connection, job_id: str, fence: int, offset: int) -> _Parts:
    chunks = logs.chunks_from(connection, job_id, fence, offset, _CHUNKS_AT_ONCE)
    return _Parts(logs.segments_from(connection, job_id, fence, offset), chunks)


async def _frames(data: bytes, wanted: _Wanted) -> AsyncGenerator[Frame]:
    position = 0
    while position < len(data):
        if _is_small(data, position):
            frames, position = _batch(data, position, wanted)
        else:
            frames, position = await asyncio.to_thread(_batch, data, position, wanted)
        for frame in frames:
            yield frame


def _batch(data: bytes, position: int, wanted: _Wanted) -> tuple[list[Frame], int]:
    frames: list[Frame] = []
    length = 0
    while position < len(data) and length < _BATCH_TEXT:
        header = read_header(data, position)
        if wanted(header):
            frames.append(decode(data, position))
            length += header.text_length
        position += header.frame_length
    return frames, position


def _is_small(data: bytes, position: int) -> bool:
    """Whether it takes less time to decode the frames than to hand them to a thread."""
    length = 0
    while position < len(data) and length <= _INLINE_TEXT:
        header = read_header(data, position)
        length += header.text_length
        position += header.frame_length
    return length <= _INLINE_TEXT


def _ends(frames: bytes) -> tuple[FrameHeader, FrameHeader] | None:
    """Check every frame; return the headers of the first and the last."""
    first: FrameHeader | None = None
    last: FrameHeader | None = None
    for frame in decode_all(frames):
        first, last = first or frame.header, frame.header
    return None if first is None or last is None else (first, last)


async def checked(offset: int, frames: bytes) -> Checked:
    """Look into every frame; what is damaged or belongs elsewhere is refused."""
    try:
        ends = _ends(frames) if _is_small(frames, 0) else await asyncio.to_thread(_ends, frames)
    except FrameDamaged as error:
        raise Refusal(problem("frame_damaged", str(error))) from error
    if ends is None:
        return Checked(Chunk(first_offset=offset, length=0, first_line=1, newlines=0, frames=b""), 0)
    first, last = ends
    if first.first_offset != offset:
        raise Refusal(problem("frame_damaged", f"the first frame begins at {first.first_offset}, not at {offset}"))
    chunk = Chunk(
        first_offset=offset,
        length=last.next_offset - offset,
        first_line=first.first_line,
        newlines=last.next_line - first.first_line,
        frames=frames,
    )
    return Checked(chunk, last.next_line - 1 + last.ends_in_mid_line)


def _stretch(chunks: list[Chunk], start: int) -> list[Chunk]:
    """Return the chunks of the next segment: from ``start``, without a gap, up to a segment's size."""
    part: list[Chunk] = []
    length = 0
    for chunk in chunks:
        if chunk.first_offset != start + length or length >= logs.SEGMENT_BYTES:
            break
        part.append(chunk)
        length += chunk.length
    return part


def _length(part: list[Chunk]) -> int:
    return sum(chunk.length for chunk in part)
