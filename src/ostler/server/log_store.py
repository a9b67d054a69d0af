"""Logs as the control plane keeps them: appended frame by frame, sealed into blobs, read from anywhere.

A log is a run of segments (in the blob store) followed by a tail of chunks (rows). Both hold frames, and a position
is an offset in the uncompressed text, so a reader never cares where one ends and the other begins. Nothing here
holds a whole log: reading streams one segment at a time.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from sqlalchemy import Connection

from ostler.blobs import Blobs
from ostler.domain.job import JobState
from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.logs.compaction import compact
from ostler.logs.errors import FrameDamaged
from ostler.logs.frame import Frame, decode_all
from ostler.logs.reader import Line, lines_of
from ostler.protocol.problem import problem
from ostler.server.call import Refusal
from ostler.server.metrics import Metrics
from ostler.store import jobs, logs
from ostler.store.database import Database
from ostler.store.logs import Appended, Chunk, OffsetExpected, Position, Segment

_INLINE_BYTES = 64 * 1024
_CHUNKS_AT_ONCE = 256
_SEAL_CHUNKS = 4096
LONGEST_LINE: Final = 64 * 1024


class _Parts(NamedTuple):
    segments: list[Segment]
    chunks: list[Chunk]


class _Checked(NamedTuple):
    chunk: Chunk
    lines: int


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
        checked = await _checked(offset, frames)
        now = self._effects.clock.now()
        outcome = await self._database.run(logs.append, runner_id, job_id, fence, checked.chunk, checked.lines, now)
        if isinstance(outcome, Appended) and not outcome.repeated:
            self._metrics.log_bytes.inc(checked.chunk.length)
        return outcome

    async def position(self, job_id: str, fence: int = 0) -> Position | None:
        """Return how large an attempt's log is; the latest attempt's without a fence."""
        return await self._database.read(logs.position, job_id, fence)

    async def job_state(self, job_id: str) -> JobState | None:
        """Return where the log's job stands; nothing for one that is not known."""
        return await self._database.read(jobs.state, job_id)

    async def lines(self, job_id: str, fence: int, first: int, count: int) -> list[Line]:
        """Return a range of lines, as far as they exist."""
        parts = await self._database.read(_parts_of_lines, job_id, fence, first, first + count - 1)
        frames = [frame async for frame in self._decoded(parts)]
        return lines_of(frames, first, count, LONGEST_LINE)

    async def frames_from(self, job_id: str, fence: int, offset: int = 0) -> AsyncIterator[Frame]:
        """Yield the frames from the one that holds the offset on, to the end of what is stored now."""
        while True:
            before = offset
            parts = await self._database.read(_parts_from, job_id, fence, offset)
            async for frame in self._decoded(parts):
                if frame.header.next_offset > offset:
                    offset = frame.header.next_offset
                    yield frame
            if offset == before:
                return

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

    async def _decoded(self, parts: _Parts) -> AsyncIterator[Frame]:
        """Yield the frames of all parts once, in order; a tail that was sealed meanwhile is in both."""
        reached = 0
        for segment in parts.segments:
            for frame in await _decoded(await self._blobs.get(segment.blob_key)):
                reached = frame.header.next_offset
                yield frame
        for chunk in parts.chunks:
            if chunk.first_offset + chunk.length <= reached:
                continue
            for frame in await _decoded(chunk.frames):
                if frame.header.first_offset >= reached:
                    reached = frame.header.next_offset
                    yield frame


# Chunks are read before segments: what is sealed between the two statements is then seen twice, and never not at all.


def _parts_of_lines(connection: Connection, job_id: str, fence: int, first: int, last: int) -> _Parts:
    chunks = logs.chunks_of_lines(connection, job_id, fence, first, last)
    return _Parts(logs.segments_of_lines(connection, job_id, fence, first, last), chunks)


def _parts_from(connection: Connection, job_id: str, fence: int, offset: int) -> _Parts:
    chunks = logs.chunks_from(connection, job_id, fence, offset, _CHUNKS_AT_ONCE)
    return _Parts(logs.segments_from(connection, job_id, fence, offset), chunks)


async def _decoded(data: bytes) -> list[Frame]:
    if len(data) <= _INLINE_BYTES:
        return list(decode_all(data))
    return await asyncio.to_thread(lambda: list(decode_all(data)))


async def _checked(offset: int, frames: bytes) -> _Checked:
    try:
        decoded = await _decoded(frames)
    except FrameDamaged as error:
        raise Refusal(problem("frame_damaged", str(error))) from error
    if not decoded:
        return _Checked(Chunk(first_offset=offset, length=0, first_line=1, newlines=0, frames=b""), 0)
    first, last = decoded[0].header, decoded[-1].header
    if first.first_offset != offset:
        raise Refusal(problem("frame_damaged", f"the first frame begins at {first.first_offset}, not at {offset}"))
    chunk = Chunk(
        first_offset=offset,
        length=last.next_offset - offset,
        first_line=first.first_line,
        newlines=last.next_line - first.first_line,
        frames=frames,
    )
    return _Checked(chunk, last.next_line - 1 + last.ends_in_mid_line)


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
