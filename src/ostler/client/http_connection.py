"""One kept-alive HTTP/1.1 connection on asyncio's transports and httptools' parser.

Why not an HTTP library: the agent sends a handful of small requests per job and must stay under 50 MB; this costs a
fifth of the CPU per request and none of the 15 MB and 100 ms that importing one takes. It does what this protocol
needs and no more: no redirects, no compression, no pipelining.
"""

import asyncio
from collections import deque
from typing import cast

import httptools

from ostler.client.transport import HttpResponse, TransportError

LARGEST_REPLY = 64 << 20
_HIGH_WATER = 1 << 20


class HttpConnection(asyncio.Protocol):
    """Carries one exchange at a time. ``reusable`` tells whether another may follow."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._status = 0
        self._headers: dict[str, str] = {}
        self._chunks: deque[bytes] = deque()
        self._held = 0
        self._streaming = False
        self._complete = False
        self._error: TransportError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._keep_alive = False
        self.reusable = False
        self.tunnelled = False

    # What callers do.

    async def exchange(self, head: bytes, body: bytes) -> HttpResponse:
        """Send a request and return the whole reply."""
        self._begin(head, body, streaming=False)
        while not self._complete:
            await self._news()
        return HttpResponse(self._status, self._headers, b"".join(self._chunks))

    async def open_stream(self, head: bytes) -> HttpResponse:
        """Send a request and return the reply as soon as its headers are there; read on with ``read``."""
        self._begin(head, b"", streaming=True)
        while not self._status and not self._complete:
            await self._news()
        return HttpResponse(self._status, self._headers, b"")

    async def open_tunnel(self, head: bytes) -> HttpResponse:
        """Ask a proxy for a tunnel; after a 200 the connection belongs to the other end."""
        self._begin(head, b"", streaming=True)
        while not self._status and not self._complete:
            await self._news()
        self.tunnelled = True
        self._parser = None
        return HttpResponse(self._status, self._headers, b"")

    async def read(self) -> bytes:
        """Return more of a streamed body, ``b""`` at its end."""
        while not self._chunks and not self._complete:
            await self._news()
        data = b"".join(self._chunks)
        self._chunks.clear()
        self._held = 0
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
        return data

    @property
    def transport(self) -> asyncio.Transport:
        """The transport below, for upgrading it to TLS."""
        if self._transport is None:
            raise TransportError("the connection is closed", sent=False)
        return self._transport

    def close(self) -> None:
        """Drop the connection at once."""
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.reusable = True

    def data_received(self, data: bytes) -> None:
        if self._parser is None:
            self._fail("the server sent something nobody asked for")
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(f"the reply is not HTTP: {error}")
        self._wake()

    def eof_received(self) -> bool:
        self.reusable = False
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.reusable = False
        if not self._complete and self._error is None:
            if self._status and not self._delimited():
                self._complete = True
            else:
                self._error = TransportError(f"the connection was lost: {exc or 'closed by the server'}", sent=True)
        self._wake()

    # What the parser calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        parser = cast("httptools.HttpResponseParser", self._parser)
        self._keep_alive = parser.should_keep_alive()
        self._status = parser.get_status_code()
        if self._status < 200:
            self._status = 0
            self._headers = {}

    def on_body(self, body: bytes) -> None:
        self._chunks.append(body)
        self._held += len(body)
        if self._streaming:
            if self._held > _HIGH_WATER and self._transport is not None:
                self._transport.pause_reading()
        elif self._held > LARGEST_REPLY:
            self._fail(f"the reply is larger than {LARGEST_REPLY} bytes")

    def on_message_complete(self) -> None:
        if not self._status:
            return
        self._complete = True
        self._parser = None
        self.reusable = self._keep_alive and self._transport is not None and not self._transport.is_closing()

    # The rest.

    def _begin(self, head: bytes, body: bytes, *, streaming: bool) -> None:
        if self._transport is None or self._transport.is_closing():
            raise TransportError("the connection was closed meanwhile", sent=False)
        self.reusable = False
        self._status = 0
        self._headers = {}
        self._chunks.clear()
        self._held = 0
        self._complete = False
        self._streaming = streaming
        self._parser = httptools.HttpResponseParser(self)
        self._transport.write(head + body if len(body) < 1 << 16 else head)
        if len(body) >= 1 << 16:
            self._transport.write(body)

    async def _news(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        if self._error is not None:
            raise self._error

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, reason: str) -> None:
        if not self._complete and self._error is None:
            self._error = TransportError(reason, sent=True)
        self.close()
        self._wake()

    def _delimited(self) -> bool:
        return "content-length" in self._headers or "chunked" in self._headers.get("transfer-encoding", "")
