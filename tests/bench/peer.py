"""The client's side of one connection, as cheap as Python allows: what is measured is the server.

A `Peer` has one request under way at a time and reads replies that say how long they are. A `Stream` reads one reply
that comes in pieces and hands on each server-sent event.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Self, cast

import msgspec

from tests.parts.ports import LOOPBACK

_END = b"\r\n\r\n"


class Peer(asyncio.Protocol):
    """See the module."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._reply: asyncio.Future[tuple[int, bytes]] | None = None
        self.token = ""

    @classmethod
    async def connected(cls, port: int, token: str = "") -> Self:
        _, peer = await asyncio.get_running_loop().create_connection(cls, LOOPBACK, port)
        peer.token = token
        return peer

    async def call(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - the edge
        """Return the decoded body; anything but success is an error."""
        raw = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        status, reply = await self.exchange(method, path, raw)
        if not 200 <= status < 300:
            raise ValueError(f"{method} {path}: {status} {reply[:500].decode(errors='replace')}")
        return msgspec.json.decode(reply) if reply[:1] in (b"{", b"[") else reply

    async def exchange(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if self._transport is None:
            raise ConnectionError("not connected")
        self._reply = asyncio.get_running_loop().create_future()
        head = f"{method} {path} HTTP/1.1\r\nHost: {LOOPBACK}\r\nAuthorization: Bearer {self.token}\r\n"
        self._transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return await self._reply

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(_END)
        if end < 0 or self._reply is None:
            return
        head = bytes(self._buffer[:end]).lower()
        _, found, rest = head.partition(b"content-length:")
        length = int(rest.split(b"\r\n", 1)[0]) if found else 0
        if len(self._buffer) - end - len(_END) < length:
            return
        body = bytes(self._buffer[end + len(_END) :])
        self._buffer.clear()
        self._reply.set_result((int(head[9:12]), body))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(exc or ConnectionError("the server closed the connection"))


class Stream(asyncio.Protocol):
    """Follows an address; each piece is handed on with the time at which it came."""

    def __init__(self, request: bytes, heard: Callable[[bytes, float], None]) -> None:
        self._request = request
        self._heard = heard
        self._transport: asyncio.Transport | None = None
        self.received = 0

    @classmethod
    async def opened(cls, port: int, path: str, token: str, heard: Callable[[bytes, float], None]) -> Self:
        request = f"GET {path} HTTP/1.1\r\nHost: {LOOPBACK}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        _, stream = await asyncio.get_running_loop().create_connection(lambda: cls(request, heard), LOOPBACK, port)
        return stream

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        self._heard(data, time.time())
