"""Shipping what an attempt produces: log frames by offset, step events by sequence.

The first bytes leave at once, what follows is gathered for a moment, because tiny requests cost the server far more
than their content. Positions are the server's: after a restart or a lost reply it says where to go on, and whole
frames are sent again from the spool. What little is left when the attempt has ended is not sent from here: the result
carries it (``rest``).
"""

import asyncio
from collections.abc import Callable

from ostler.agent.delivery import Delivery
from ostler.agent.journal import Entry
from ostler.agent.order import step_report
from ostler.agent.supervision import StepEvent, Supervisor
from ostler.client.errors import ProblemError
from ostler.effects import Clock
from ostler.logs.frame import read_header
from ostler.protocol.endpoint import MIB, Binary
from ostler.protocol.v1 import table
from ostler.protocol.v1.runner_messages import Directive, EventsRequest, LogQuery, StepReport

SPACING_SECONDS = 0.03
EVENT_BATCH = 500
EVENT_BATCH_BYTES = 2 * MIB
"""Summaries and annotations of the steps of workflows count; one step's alone fit into a message."""
CARRIED_BYTES = 64 << 10
CARRIED_EVENTS = 100

_LARGEST_CHUNK = 3 * MIB
_MOST_DAMAGED = 3

OnDirective = Callable[[Directive], None]


class LogShipper:
    """Ships one attempt's log until it is complete on the server."""

    def __init__(
        self, entry: Entry, supervisor: Supervisor, delivery: Delivery, chunk_bytes: int, on_directive: OnDirective
    ) -> None:
        self._entry = entry
        self._supervisor = supervisor
        self._delivery = delivery
        self._chunk_bytes = max(1, min(chunk_bytes, _LARGEST_CHUNK))
        self._on_directive = on_directive
        self._damaged = 0
        self.agreed = False
        """Whether the server has confirmed the offset. Only then a result may go on from there."""
        self.offset = 0
        """How much of the text the server has."""
        self.news = asyncio.Event()
        self.final = asyncio.Event()
        """Set when the log will not grow any more."""

    async def run(self) -> None:
        """Return when all but the ``rest`` is stored; raise ``ProblemError`` if the attempt is not ours any more."""
        while True:
            self.news.clear()
            last_round = self.final.is_set()
            if last_round and self.rest():
                return
            sent = await self._ship()
            if self.offset >= self._supervisor.log_length():
                if last_round:
                    return
                await self.news.wait()
            elif not sent:  # the spool holds less than it said
                if last_round:
                    return
                await _pause(self.final)
            if 0 < sent < self._chunk_bytes // 2:
                await _pause(self.final)

    def rest(self) -> bytes:
        """Return the frames that complete the log, if they are few enough for the result to carry."""
        length = self._supervisor.log_length()
        if not self.agreed or self.offset >= length:
            return b""
        frames = self._supervisor.log_frames(self.offset, CARRIED_BYTES)
        return frames if len(frames) <= CARRIED_BYTES and _text_end(frames) == length else b""

    async def ship_from(self, offset: int) -> None:
        """Send everything from an offset that the server named."""
        self.offset = offset
        while self.offset < self._supervisor.log_length() and await self._ship():
            pass

    async def _ship(self) -> int:
        if self.offset >= self._supervisor.log_length():
            return 0
        frames = self._supervisor.log_frames(self.offset, self._chunk_bytes)
        if not frames:
            return 0
        try:
            reply = await self._delivery.call(
                table.APPEND_LOG,
                request=Binary(frames),
                query=LogQuery(fence=self._entry.fence, offset=self.offset),
                job_id=self._entry.job_id,
            )
        except ProblemError as error:
            if error.code == "log_offset" and error.problem.expected is not None:
                self.offset, self.agreed = error.problem.expected, True
                return len(frames)
            if error.code == "frame_damaged" and self._damaged < _MOST_DAMAGED:
                self._damaged += 1
                await asyncio.sleep(SPACING_SECONDS)
                return len(frames)
            raise
        self.offset, self.agreed = reply.length, True
        if reply.directive is not None:
            self._on_directive(reply.directive)
        return len(frames)


class EventShipper:
    """Ships one attempt's step events."""

    def __init__(
        self, entry: Entry, supervisor: Supervisor, delivery: Delivery, clock: Clock, on_directive: OnDirective
    ) -> None:
        self._entry = entry
        self._supervisor = supervisor
        self._delivery = delivery
        self._clock = clock
        self._on_directive = on_directive
        self._stored = 0
        self.news = asyncio.Event()
        self.final = asyncio.Event()
        """Set when no event will follow."""

    async def run(self) -> None:
        """Return when all but the ``rest`` is stored; raise ``ProblemError`` if the attempt is not ours any more."""
        while True:
            self.news.clear()
            last_round = self.final.is_set()
            waiting = self._supervisor.events(self._stored)
            if last_round and len(_first(waiting, CARRIED_EVENTS, CARRIED_BYTES)) == len(waiting):
                return
            events = _first(waiting, EVENT_BATCH, EVENT_BATCH_BYTES) or waiting[:1]
            if events:
                await self._send(self._reports(events), events[-1].seq)
            else:
                await self.news.wait()
                await _pause(self.final)

    def rest(self) -> list[StepReport]:
        """Return the last reports, for the result to carry."""
        return self._reports(_first(self._supervisor.events(self._stored), CARRIED_EVENTS, CARRIED_BYTES))

    def _reports(self, events: list[StepEvent]) -> list[StepReport]:
        now = self._clock.now()
        return [step_report(event, now) for event in events]

    async def _send(self, reports: list[StepReport], last: int) -> None:
        request = EventsRequest(self._entry.job_id, self._entry.fence, reports)
        reply = await self._delivery.call(table.EVENTS, request=request)
        self._stored = max(last, reply.stored)
        if reply.directive is not None:
            self._on_directive(reply.directive)


def _first(events: list[StepEvent], most: int, most_bytes: int) -> list[StepEvent]:
    """Return as many as one message takes."""
    total = 0
    for count, event in enumerate(events[:most]):
        total += len(event.summary) + sum(
            len(one.message) + len(one.title) + len(one.file) for one in event.annotations
        )
        if total > most_bytes:
            return events[:count]
    return events[:most]


async def _pause(final: asyncio.Event) -> None:
    """Gather for a moment, but not when the end has come."""
    try:
        async with asyncio.timeout(SPACING_SECONDS):
            await final.wait()
    except TimeoutError:
        pass


def _text_end(frames: bytes) -> int:
    """Return up to where in the log whole frames go."""
    end = position = 0
    while position < len(frames):
        header = read_header(frames, position)
        end, position = header.next_offset, position + header.frame_length
    return end
