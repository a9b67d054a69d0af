"""Streams as messages: server-sent events that resume where they broke, and lines of JSON.

Resuming is by ``Last-Event-ID`` only: what the id means is the endpoint's business.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple, TypeVar

import msgspec

from ostler.client.caller import Client
from ostler.client.errors import ProblemError
from ostler.client.policy import RETRYABLE_STATUSES
from ostler.client.transport import TransportError
from ostler.effects import Random
from ostler.protocol.endpoint import Endpoint

Request = TypeVar("Request")
Reply = TypeVar("Reply")


class ServerEvent(NamedTuple):
    """One event of a stream."""

    event: str
    data: bytes
    id: str


class EventParser:
    """Takes bytes as they arrive, gives back whole events (WHATWG server-sent events)."""

    def __init__(self, last_event_id: str = "") -> None:
        self._rest = b""
        self._event = ""
        self._data: list[bytes] = []
        self.last_event_id = last_event_id
        self.retry_seconds: float | None = None

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Return the events that the chunk completes."""
        lines = (self._rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        self._rest = lines.pop()
        events: list[ServerEvent] = []
        for line in lines:
            if line:
                self._field(line)
                continue
            if self._data:
                events.append(ServerEvent(self._event or "message", b"\n".join(self._data), self.last_event_id))
            self._event, self._data = "", []
        return events

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self.last_event_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            self.retry_seconds = int(value) / 1000


async def events(
    client: Client,
    endpoint: Endpoint[Request, Reply],
    random: Random,
    *,
    query: msgspec.Struct | None = None,
    last_event_id: str = "",
    until: str = "end",
    patience_seconds: float | None = None,
    on_loss: Callable[[Exception], None] | None = None,
    **path: str,
) -> AsyncIterator[ServerEvent]:
    """Yield events up to and with the one named ``until``; a broken stream is resumed after the last id.

    Raises what the client raises for a refusal, and ``TransportError`` when the server stays away for longer than
    ``patience_seconds``, else the policy's patience. A server that says that it cannot serve now is away too.
    """
    losses = 0
    longest = client.policy.patience_seconds if patience_seconds is None else patience_seconds
    patience = longest
    while True:
        parser = EventParser(last_event_id)
        try:
            async for chunk in client.stream(endpoint, query=query, last_event_id=last_event_id, **path):
                for event in parser.feed(chunk):
                    last_event_id = event.id
                    losses, patience = 0, longest
                    yield event
                    if event.event == until:
                        return
        except (TransportError, ProblemError) as error:
            if patience < 0 or not passing(error):
                raise
            if on_loss is not None:
                on_loss(error)
        losses += 1
        wait = max(parser.retry_seconds or 0.0, client.policy.reconnect(losses, random))
        patience -= wait
        await asyncio.sleep(wait)


def passing(error: Exception) -> bool:
    """Whether asking again may help: nobody answered, or somebody who cannot serve at the moment."""
    return not isinstance(error, ProblemError) or error.problem.status in RETRYABLE_STATUSES


async def lines(
    client: Client,
    endpoint: Endpoint[Request, Reply],
    *,
    query: msgspec.Struct | None = None,
    **path: str,
) -> AsyncIterator[bytes]:
    """Yield the lines of a newline-delimited reply, without their ends."""
    rest = b""
    async for chunk in client.stream(endpoint, query=query, **path):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line:
                yield line
    if rest:
        yield rest
