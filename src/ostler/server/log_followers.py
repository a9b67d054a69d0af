"""Following logs: each piece is read and encoded once, however many follow.

A follower's place is an attempt and an offset that is always the beginning of a line, so it can leave and come back
anywhere. A last line that has no end yet is sent as it is (``partial``) and sent again when it has grown. A follower
of an attempt that was given up goes on with the next one; the stream ends with the job.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

import msgspec

from ostler.domain.job import JobState
from ostler.logs.frame import Frame
from ostler.logs.reader import Line, lines_from_offset
from ostler.logs.visible import for_page
from ostler.protocol.v1.run_messages import LogLine
from ostler.server.hub import Hub
from ostler.server.log_store import LogStore
from ostler.store.logs import Position

KEEP_ALIVE_SECONDS: Final = 15.0
DRAIN_TOPIC: Final = "drain"

_PIECE_BYTES = 1024 * 1024
_PIECE_LINES = 5000
_TAIL_BYTES = 256 * 1024
_REMEMBERED = 256
_LONGEST_LINE = 64 * 1024
_ENDED = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
_KEEP_ALIVE = b": still here\n\n"

_encode = msgspec.json.Encoder().encode


class Place(NamedTuple):
    """Where a follower is: an attempt (0: the latest) and the offset of the beginning of a line."""

    fence: int
    offset: int

    @classmethod
    def parse(cls, text: str) -> "Place | None":
        """Return the place that an event id names."""
        fence, dot, offset = text.partition(".")
        return cls(int(fence), int(offset)) if dot and fence.isdigit() and offset.isdigit() else None


class _LogEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    job: str
    attempt: int
    offset: int
    first_line: int
    lines: list[LogLine]
    total_lines: int
    partial: bool = False
    skipped_to: int | None = None


class _Piece(NamedTuple):
    """An encoded event, where the next one begins, and up to where the log was seen for it."""

    event: bytes
    following: int
    seen: int


class LogFollowers:
    """See the module."""

    def __init__(self, log_store: LogStore, hub: Hub) -> None:
        self._log_store = log_store
        self._hub = hub
        self._pieces: OrderedDict[tuple[str, int, int, int], _Piece] = OrderedDict()
        self._reading: dict[tuple[str, int, int, int], asyncio.Future[_Piece | None]] = {}

    async def follow(self, job_id: str, place: Place, *, tail: bool) -> AsyncIterator[bytes]:
        """Yield server-sent events until the job has ended and everything was sent, or the server drains."""
        fence, offset, seen = place.fence, place.offset, 0
        with self._hub.subscribe(f"log:{job_id}", DRAIN_TOPIC) as changes:
            yield b"retry: 500\n\n"
            while True:
                position = await self._log_store.position(job_id, fence)
                if position is not None and position.bytes > max(offset, seen):
                    skipped = await self._skip(job_id, position, offset) if tail else None
                    piece = await self._piece(job_id, position, offset if skipped is None else skipped, skipped)
                    if piece is not None:
                        fence, offset, seen = position.fence, piece.following, piece.seen
                        yield piece.event
                        continue
                if position is None or position.complete:
                    ended = await self._ended(job_id, position)
                    if ended:
                        yield b"event: end\ndata: {}\n\n"
                        return
                    if position is not None and await self._has_next(job_id, position.fence):
                        fence, offset, seen = position.fence + 1, 0, 0
                        continue
                topics = await changes.changed(KEEP_ALIVE_SECONDS)
                if DRAIN_TOPIC in topics:
                    return
                if not topics:
                    yield _KEEP_ALIVE

    async def _ended(self, job_id: str, position: Position | None) -> bool:
        if await self._log_store.job_state(job_id) not in _ENDED:
            return False
        latest = await self._log_store.position(job_id)
        return position == latest

    async def _has_next(self, job_id: str, fence: int) -> bool:
        latest = await self._log_store.position(job_id)
        return latest is not None and latest.fence > fence

    async def _skip(self, job_id: str, position: Position, offset: int) -> int | None:
        """Return where to go on if the follower is too far behind to be shown every line."""
        if position.bytes - offset <= _TAIL_BYTES * 2:
            return None
        async for frame in self._log_store.frames_from(job_id, position.fence, position.bytes - _TAIL_BYTES):
            into = max(0, position.bytes - _TAIL_BYTES - frame.header.first_offset)
            newline = frame.text.find(b"\n", into)
            if newline >= 0 and frame.header.first_offset + newline + 1 < position.bytes:
                return frame.header.first_offset + newline + 1
        return None

    async def _piece(self, job_id: str, position: Position, offset: int, skipped: int | None) -> _Piece | None:
        key = (job_id, position.fence, offset, position.bytes)
        known = self._pieces.get(key)
        if known is not None:
            return known
        reading = self._reading.get(key)
        if reading is None:
            reading = asyncio.ensure_future(self._read(job_id, position, offset, skipped))
            self._reading[key] = reading
            reading.add_done_callback(lambda _: self._reading.pop(key, None))
        piece = await asyncio.shield(reading)
        if piece is not None:
            self._pieces[key] = piece
            if len(self._pieces) > _REMEMBERED:
                self._pieces.popitem(last=False)
        return piece

    async def _read(self, job_id: str, position: Position, offset: int, skipped: int | None) -> _Piece | None:
        lines: list[Line] = []
        at = following = offset
        async for frame in self._log_store.frames_from(job_id, position.fence, offset):
            _join(lines, lines_from_offset(frame, at))
            at = frame.header.next_offset
            following = _last_line_start(frame, following)
            if at - offset >= _PIECE_BYTES or len(lines) >= _PIECE_LINES:
                break
        if not lines:
            return None
        partial = not lines[-1].ended
        if partial and len(lines[-1].text) >= _LONGEST_LINE:
            lines.pop()
        event = _LogEvent(
            job=job_id,
            attempt=position.fence,
            offset=following,
            first_line=lines[0].number if lines else 0,
            lines=[shown(line) for line in lines],
            total_lines=max(position.lines, lines[-1].number if lines else 0),
            partial=partial and bool(lines) and not lines[-1].ended,
            skipped_to=None if skipped is None or not lines else lines[0].number,
        )
        identity = f"{position.fence}.{following}"
        encoded = b"event: log\nid: %b\ndata: %b\n\n" % (identity.encode(), _encode(event))
        return _Piece(encoded, following, at)


def shown(line: Line) -> LogLine:
    """Return a line as clients get it: text that a terminal or a page may show as it is."""
    kept = line.text[:_LONGEST_LINE]
    left_out = line.cut + len(line.text) - len(kept)
    text = for_page(kept)
    return (f"{text} … {left_out} bytes more, see the raw log" if left_out else text, line.time_micros, line.step)


def _join(lines: list[Line], more: list[Line]) -> None:
    if lines and more and lines[-1].number == more[0].number:
        before, after = lines[-1], more.pop(0)
        text = before.text if len(before.text) > _LONGEST_LINE else before.text + after.text
        lines[-1] = before._replace(
            text=text, ended=after.ended, cut=before.cut + after.cut + len(before.text) + len(after.text) - len(text)
        )
    lines += more


def _last_line_start(frame: Frame, before: int) -> int:
    """Return where the last line that has no end yet begins; the end of the frame if there is none."""
    newline = frame.text.rfind(b"\n")
    start = frame.header.first_offset + newline + 1
    return max(before, start) if newline >= 0 else before
