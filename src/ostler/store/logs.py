"""The logs of attempts: a tail of frames in rows, sealed into segments in the blob store.

Positions are offsets in the uncompressed text. Appending is guarded by the offset, so a log grows byte-exact whatever
is lost, repeated or reordered on the way. Checking frames and reading blobs is not done here.
"""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

from collections.abc import Sequence
from typing import Final

import msgspec
from sqlalchemy import Connection

from ostler.domain.job import JobState
from ostler.domain.machine import Refused
from ostler.protocol.v1.runner_messages import Directive
from ostler.store.attempts import refusal
from ostler.store.database import hint
from ostler.store.sql import Fields, Sql
from ostler.store.transitions import load, to_seal

SEGMENT_BYTES: Final = 4 * 1024 * 1024
"""A tail that has grown this long is sealed although its attempt goes on."""

# One statement does the usual case: it meets a row only if holder, fence, liveness and offset are all right.
_APPEND = Sql(
    "UPDATE attempts SET log_bytes = log_bytes + :length, log_lines = :lines"
    " WHERE job_id = :job_id AND fence = :fence AND runner_id = :runner_id AND lease_expires_at IS NOT NULL"
    " AND log_bytes = :first_offset RETURNING log_bytes, log_sealed,"
    " (SELECT j.state FROM jobs j WHERE j.id = attempts.job_id),"
    " (SELECT j.cancel_reason FROM jobs j WHERE j.id = attempts.job_id)"
)
_CHUNK = Sql(
    "INSERT INTO log_chunks (job_id, fence, first_offset, length, first_line, newlines, frames)"
    " VALUES (:job_id, :fence, :first_offset, :length, :first_line, :newlines, :frames)"
)
_POSITION = Sql(
    "SELECT fence, log_bytes, log_lines, log_sealed, lease_expires_at IS NULL FROM attempts WHERE job_id = :job_id"
    " AND fence = :fence"
)
_LATEST = Sql(
    "SELECT fence, log_bytes, log_lines, log_sealed, lease_expires_at IS NULL FROM attempts WHERE job_id = :job_id"
    " ORDER BY fence DESC LIMIT 1"
)
_CHUNK_COLUMNS = "first_offset, length, first_line, newlines, frames"
_CHUNKS = Sql(
    f"SELECT {_CHUNK_COLUMNS} FROM log_chunks WHERE job_id = :job_id AND fence = :fence"
    " AND first_offset + length > :first_offset AND first_offset < :until ORDER BY first_offset LIMIT :most"
)
_CHUNKS_OF_LINES = Sql(
    f"SELECT {_CHUNK_COLUMNS} FROM log_chunks WHERE job_id = :job_id AND fence = :fence"
    " AND first_line <= :last_line AND first_line + newlines >= :first_line ORDER BY first_offset"
)
_SEGMENT_COLUMNS = "first_offset, length, first_line, newlines, blob_key, stored_bytes"
_SEGMENTS = Sql(
    f"SELECT {_SEGMENT_COLUMNS} FROM log_segments WHERE job_id = :job_id AND fence = :fence"
    " AND first_offset + length > :first_offset ORDER BY first_offset"
)
_SEGMENTS_OF_LINES = Sql(
    f"SELECT {_SEGMENT_COLUMNS} FROM log_segments WHERE job_id = :job_id AND fence = :fence"
    " AND first_line <= :last_line AND first_line + newlines >= :first_line ORDER BY first_offset"
)
_SEAL = Sql(
    "UPDATE attempts SET log_sealed = :sealed WHERE job_id = :job_id AND fence = :fence"
    " AND log_sealed = :first_offset AND log_bytes >= :sealed"
)
_ADD_SEGMENT = Sql(
    "INSERT INTO log_segments (job_id, fence, first_offset, length, first_line, newlines, blob_key, stored_bytes,"
    " created_at) VALUES (:job_id, :fence, :first_offset, :length, :first_line, :newlines, :blob_key, :stored_bytes,"
    " :now)"
)
_DROP_CHUNKS = Sql(
    "DELETE FROM log_chunks WHERE job_id = :job_id AND fence = :fence AND first_offset < :sealed"
    " AND first_offset + length <= :sealed"
)
_EXPIRED = Sql(
    "SELECT s.job_id, s.fence, s.first_offset, s.blob_key FROM log_segments s WHERE s.created_at < :before"
    " ORDER BY s.created_at LIMIT :most"
)
_FORGET_SEGMENT = Sql(
    "DELETE FROM log_segments WHERE job_id = :job_id AND fence = :fence AND first_offset = :first_offset"
)


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """Whole frames that follow each other: where their text lies in the log, and their bytes.

    ``first_line`` is the line that the first byte is part of, ``newlines`` how many line ends the text holds.
    """

    first_offset: int
    length: int
    first_line: int
    newlines: int
    frames: bytes


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """A sealed part of a log and the blob that holds it."""

    first_offset: int
    length: int
    first_line: int
    newlines: int
    blob_key: str
    stored_bytes: int


class Appended(msgspec.Struct, frozen=True):
    """How much is stored now; what the runner should know; whether this call added anything."""

    length: int
    directive: Directive | None = None
    repeated: bool = False


class OffsetExpected(msgspec.Struct, frozen=True):
    """The bytes do not continue what is stored, which ends at ``expected``."""

    expected: int


class Position(msgspec.Struct, frozen=True):
    """How large a log is: ``sealed`` bytes are in segments, the rest in chunks; ``complete`` if no more can come."""

    fence: int
    bytes: int
    lines: int
    sealed: int
    complete: bool


class ExpiredSegment(msgspec.Struct, frozen=True):
    """A segment past its retention, to be deleted with its blob."""

    job_id: str
    fence: int
    first_offset: int
    blob_key: str


def append(
    connection: Connection, runner_id: str, job_id: str, fence: int, chunk: Chunk, lines: int, now: int
) -> Appended | OffsetExpected | Refused:
    """Add a chunk if it continues the log. ``lines`` is how many lines have begun up to its end."""
    row = _APPEND.row(
        connection,
        job_id=job_id,
        fence=fence,
        runner_id=runner_id,
        first_offset=chunk.first_offset,
        length=chunk.length,
        lines=lines,
    )
    if row is None:
        return _not_appended(connection, runner_id, job_id, fence, chunk)
    length, sealed, state, reason = row
    if chunk.length:
        _CHUNK.run(
            connection,
            job_id=job_id,
            fence=fence,
            first_offset=chunk.first_offset,
            length=chunk.length,
            first_line=chunk.first_line,
            newlines=chunk.newlines,
            frames=chunk.frames,
        )
        if length - sealed >= SEGMENT_BYTES > chunk.first_offset - sealed:
            to_seal(connection, ((job_id, fence),), now)
        hint(connection, f"log:{job_id}")
    cancelling = state == JobState.CANCELLING.value
    return Appended(length, Directive(job_id, fence, "cancel", reason or "") if cancelling else None)


def _not_appended(
    connection: Connection, runner_id: str, job_id: str, fence: int, chunk: Chunk
) -> Appended | OffsetExpected | Refused:
    held = load(connection, ((job_id, fence),)).get((job_id, fence))
    if held is None or held.attempt is None or held.attempt.runner_id != runner_id:
        return refusal(held, runner_id, job_id, fence)
    stored = held.attempt.log_bytes
    if chunk.first_offset + chunk.length <= stored:
        return Appended(stored, repeated=True)
    if not held.held_by(runner_id):
        return refusal(held, runner_id, job_id, fence)
    return OffsetExpected(stored)


def position(connection: Connection, job_id: str, fence: int = 0) -> Position | None:
    """Return how large the log of an attempt is; without a fence, of the latest attempt."""
    row = _POSITION.row(connection, job_id=job_id, fence=fence) if fence else _LATEST.row(connection, job_id=job_id)
    return Position(row[0], row[1], row[2], row[3], bool(row[4])) if row else None


def chunks_from(
    connection: Connection, job_id: str, fence: int, first_offset: int, limit: int = 64, window: int = SEGMENT_BYTES
) -> list[Chunk]:
    """Return chunks of the tail from the one that holds the offset on, as far as they begin in a window of text."""
    until = first_offset + window
    rows = _CHUNKS.rows(connection, job_id=job_id, fence=fence, first_offset=first_offset, until=until, most=limit)
    return [_chunk(row) for row in rows]


def chunks_of_lines(connection: Connection, job_id: str, fence: int, first_line: int, last_line: int) -> list[Chunk]:
    """Return the chunks of the tail that hold any part of these lines."""
    rows = _CHUNKS_OF_LINES.rows(connection, job_id=job_id, fence=fence, first_line=first_line, last_line=last_line)
    return [_chunk(row) for row in rows]


def segments_from(connection: Connection, job_id: str, fence: int, first_offset: int = 0) -> list[Segment]:
    """Return the sealed segments from the one that holds the offset on."""
    rows = _SEGMENTS.rows(connection, job_id=job_id, fence=fence, first_offset=first_offset)
    return [_segment(row) for row in rows]


def segments_of_lines(
    connection: Connection, job_id: str, fence: int, first_line: int, last_line: int
) -> list[Segment]:
    """Return the sealed segments that hold any part of these lines."""
    rows = _SEGMENTS_OF_LINES.rows(connection, job_id=job_id, fence=fence, first_line=first_line, last_line=last_line)
    return [_segment(row) for row in rows]


def seal(connection: Connection, job_id: str, fence: int, segment: Segment, now: int) -> bool:
    """Replace the chunks that a stored blob holds by its segment; false if another replica did so already."""
    sealed = segment.first_offset + segment.length
    if not _SEAL.run(connection, job_id=job_id, fence=fence, first_offset=segment.first_offset, sealed=sealed):
        return False
    _ADD_SEGMENT.run(
        connection,
        job_id=job_id,
        fence=fence,
        first_offset=segment.first_offset,
        length=segment.length,
        first_line=segment.first_line,
        newlines=segment.newlines,
        blob_key=segment.blob_key,
        stored_bytes=segment.stored_bytes,
        now=now,
    )
    _DROP_CHUNKS.run(connection, job_id=job_id, fence=fence, sealed=sealed)
    return True


def expired(connection: Connection, before: int, limit: int = 500) -> list[ExpiredSegment]:
    """Return segments sealed before a time; delete their blobs first, then `forget` them."""
    return [ExpiredSegment(*row) for row in _EXPIRED.rows(connection, before=before, most=limit)]


def forget(connection: Connection, segments: Sequence[ExpiredSegment]) -> None:
    """Delete the rows of segments whose blobs are gone."""
    for segment in segments:
        _FORGET_SEGMENT.run(connection, job_id=segment.job_id, fence=segment.fence, first_offset=segment.first_offset)


def _chunk(row: Fields) -> Chunk:
    return Chunk(first_offset=row[0], length=row[1], first_line=row[2], newlines=row[3], frames=bytes(row[4]))


def _segment(row: Fields) -> Segment:
    return Segment(
        first_offset=row[0],
        length=row[1],
        first_line=row[2],
        newlines=row[3],
        blob_key=row[4],
        stored_bytes=row[5],
    )
