"""Following logs: each piece is read and encoded once, however many follow.

A follower's place is an attempt and an offset that is always the beginning of a line, so it can leave and come back
anywhere. A last line that has no end yet is sent as it is (``partial``) and sent again when it has grown. A follower
of an attempt that was given up goes on with the next one; the stream ends with the job.

A browser follows by its tail: it is always shown the newest lines, and at most so many at once.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, NamedTuple

import msgspec

from ostler.domain.job import JobState
from ostler.logs.frame import Frame
from ostler.logs.reader import Line, lines_from_offset
from ostler.logs.visible import for_page
from ostler.protocol.v1.run_messages import LogLine
from ostler.server.hub import DRAIN_TOPIC, Hub
from ostler.server.log_store import LONGEST_LINE, LogStore
from ostler.store.logs import Position

KEEP_ALIVE_SECONDS: Final = 15.0

_PIECE_BYTES = 1024 * 1024
_PIECE_LINES = 5000
_TAIL_BYTES = 256 * 1024
_REMEMBERED = 1024
_REMEMBERED_BYTES = 32 * 1024 * 1024
_MOST_DIGITS = 15
ENDED: Final = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
_KEEP_ALIVE = b": still here\n\n"
_END = b"event: end\ndata: {}\n\n"

_encode = msgspec.json.Encoder().encode

_Key = tuple[str, int, int, int, int, bool]


class Place(NamedTuple):
    """Where a follower is: an attempt (0: the latest) and the offset of the beginning of a line."""

    fence: int
    offset: int

    @classmethod
    def parse(cls, text: str) -> "Place | None":
        """Return the place that an event id names."""
        fence, _, offset = text.partition(".")
        return cls(int(fence), int(offset)) if _is_count(fence) and _is_count(offset) else None


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


class _LogEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    job: str
    attempt: int
    offset: int
    first_line: int
    lines: list[LogLine]
    total_lines: int
    partial: bool = False
    skipped_to: int | None = None


class Piece(NamedTuple):
    """Encoded lines, where the next ones begin, and up to where the log was seen for them."""

    data: bytes
    place: Place
    seen: int


class Ended(NamedTuple):
    """The job has ended and everything was sent."""


class Quiet(NamedTuple):
    """Nothing happened for a while; a stream says so, so that nobody on the way closes it."""


class LogFollowers:
    """See the module."""

    def __init__(self, log_store: LogStore, hub: Hub) -> None:
        self._log_store = log_store
        self._hub = hub
        self._pieces: OrderedDict[_Key, Piece] = OrderedDict()
        self._pieces_bytes = 0
        self._positions: dict[str, dict[int, asyncio.Future[Position | None]]] = {}
        self._draining = False
        self._reading: dict[_Key, asyncio.Future[Piece | None]] = {}
        hub.listen(self._heard)

    async def follow(self, job_id: str, place: Place, *, tail: bool) -> AsyncGenerator[bytes]:
        """Yield server-sent events until the job has ended and everything was sent, or the server drains."""
        yield b"retry: 500\n\n"
        async with aclosing(self.pieces(job_id, place, tail=tail)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Piece):
                    identity = f"{piece.place.fence}.{piece.place.offset}".encode()
                    yield b"event: log\nid: %b\ndata: %b\n\n" % (identity, piece.data)
                else:
                    yield _END if isinstance(piece, Ended) else _KEEP_ALIVE

    async def pieces(
        self, job_id: str, place: Place, *, tail: bool, most_lines: int = _PIECE_LINES
    ) -> AsyncGenerator[Piece | Ended | Quiet]:
        """Yield what is new of a log until its job has ended or the server drains."""
        fence, offset, seen = place.fence, place.offset, 0
        with self._hub.subscribe(f"log:{job_id}", DRAIN_TOPIC) as changes:
            while not self._draining:
                position = await self._position(job_id, fence)
                if position is not None and position.bytes > max(offset, seen):
                    skipped = await self._skip(job_id, position, offset) if tail else None
                    piece = await self._piece(job_id, position, offset, skipped, most_lines if tail else 0)
                    if piece is not None:
                        fence, offset, seen = position.fence, piece.place.offset, piece.seen
                        if piece.data:
                            yield piece
                        continue
                if position is None or position.complete:
                    if await self._ended(job_id, position):
                        yield Ended()
                        return
                    if position is not None and await self._has_next(job_id, position.fence):
                        fence, offset, seen = position.fence + 1, 0, 0
                        continue
                topics = await changes.changed(KEEP_ALIVE_SECONDS)
                if DRAIN_TOPIC in topics:
                    return
                if not topics:
                    yield Quiet()

    async def _position(self, job_id: str, fence: int) -> Position | None:
        """Read a position once for all who ask for it at the same time.

        A read that began before a change is not shared with those who heard of the change.
        """
        readings = self._positions.setdefault(job_id, {})
        reading = readings.get(fence)
        if reading is None:
            reading = readings[fence] = asyncio.ensure_future(self._log_store.position(job_id, fence))
            reading.add_done_callback(lambda done: self._position_read(job_id, fence, done))
        return await asyncio.shield(reading)

    def _position_read(self, job_id: str, fence: int, reading: asyncio.Future[Position | None]) -> None:
        readings = self._positions.get(job_id, {})
        if readings.get(fence) is reading:
            del readings[fence]
            if not readings:
                del self._positions[job_id]

    def _heard(self, topic: str) -> None:
        kind, _, job_id = topic.partition(":")
        if kind == "log":
            self._positions.pop(job_id, None)
        elif kind == "*":
            self._positions.clear()
        elif kind == DRAIN_TOPIC:
            self._draining = True

    async def _ended(self, job_id: str, position: Position | None) -> bool:
        if await self._log_store.job_state(job_id) not in ENDED:
            return False
        latest = await self._log_store.position(job_id)
        return position is None or latest is None or (position.fence, position.bytes) == (latest.fence, latest.bytes)

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

    async def _piece(
        self, job_id: str, position: Position, offset: int, skipped: int | None, newest: int
    ) -> Piece | None:
        start = offset if skipped is None else skipped
        key = (job_id, position.fence, start, position.bytes, newest, skipped is not None)
        known = self._pieces.get(key)
        if known is not None:
            return known
        reading = self._reading.get(key)
        if reading is None:
            reading = asyncio.ensure_future(self._read(job_id, position, start, newest, skipping=skipped is not None))
            self._reading[key] = reading
            reading.add_done_callback(lambda _: self._reading.pop(key, None))
        piece = await asyncio.shield(reading)
        if piece is not None:
            self._keep(key, piece)
        return piece

    def _keep(self, key: _Key, piece: Piece) -> None:
        if key in self._pieces:
            return
        self._pieces[key] = piece
        self._pieces_bytes += len(piece.data)
        while self._pieces_bytes > _REMEMBERED_BYTES or len(self._pieces) > _REMEMBERED:
            _, oldest = self._pieces.popitem(last=False)
            self._pieces_bytes -= len(oldest.data)

    async def _read(self, job_id: str, position: Position, offset: int, newest: int, *, skipping: bool) -> Piece | None:
        lines: list[Line] = []
        at = following = offset
        async for frame in self._log_store.frames_from(job_id, position.fence, offset, position.bytes):
            _join(lines, lines_from_offset(frame, at))
            at = frame.header.next_offset
            following = _last_line_start(frame, following)
            # A piece holds at least one whole line, or the follower would come back to the same place for ever.
            full = at - offset >= _PIECE_BYTES or (not newest and len(lines) >= _PIECE_LINES)
            if full and following > offset:
                break
        if not lines:
            return None
        partial = not lines[-1].ended
        if partial and len(lines[-1].text) >= LONGEST_LINE:
            lines.pop()
        if not lines:
            return Piece(b"", Place(position.fence, following), at)
        if newest and len(lines) > newest:
            lines, skipping = lines[-newest:], True
        event = _LogEvent(
            job=job_id,
            attempt=position.fence,
            offset=following,
            first_line=lines[0].number,
            lines=[shown(line) for line in lines],
            total_lines=max(position.lines, lines[-1].number),
            partial=not lines[-1].ended,
            skipped_to=lines[0].number if skipping else None,
        )
        return Piece(_encode(event), Place(position.fence, following), at)


def shown(line: Line) -> LogLine:
    """Return a line as clients get it: text that a terminal or a page may show as it is."""
    kept = line.text[:LONGEST_LINE]
    left_out = line.cut + len(line.text) - len(kept)
    text = for_page(kept)
    return (f"{text} … {left_out} bytes more, see the raw log" if left_out else text, line.time_micros, line.step)


def _join(lines: list[Line], more: list[Line]) -> None:
    if lines and more and lines[-1].number == more[0].number:
        before, after = lines[-1], more.pop(0)
        text = before.text if len(before.text) > LONGEST_LINE else before.text + after.text
        lines[-1] = before._replace(
            text=text, ended=after.ended, cut=before.cut + after.cut + len(before.text) + len(after.text) - len(text)
        )
    lines += more


def _last_line_start(frame: Frame, before: int) -> int:
    """Return where the last line that has no end yet begins; the end of the frame if there is none."""
    newline = frame.text.rfind(b"\n")
    start = frame.header.first_offset + newline + 1
    return max(before, start) if newline >= 0 else before
