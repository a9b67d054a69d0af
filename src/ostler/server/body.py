"""The body of a request: read whole within its limit, or handed on piece by piece as it comes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.types import Receive

from ostler.protocol.problem import problem
from ostler.server.call import Refusal

_DISCARD_SECONDS = 5.0
_MOST_DIGITS = 20


class ClientGone(Exception):
    """The caller closed the connection before its request was whole."""

    code = "client_gone"


class BodyStream:
    """A body that is read once, while it comes. What its reader leaves is passed over when it is closed."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._ended = False

    @classmethod
    async def opened(cls, receive: Receive, headers: dict[str, str], limit: int) -> "BodyStream":
        """Return a stream; a body that says itself that it is too large is refused at once."""
        await _check_declared(receive, headers, limit)
        return cls(receive, limit)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the pieces; raise if there are more bytes than the call takes, or if the caller goes away."""
        size = 0
        while not self._ended:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self._ended = True
                raise ClientGone
            chunk: bytes = message.get("body", b"")
            self._ended = not message.get("more_body", False)
            size += len(chunk)
            if size > self._limit:
                raise _too_large("more bytes came", self._limit)
            if chunk:
                yield chunk

    async def close(self) -> None:
        """Pass over what nobody read."""
        if not self._ended:
            self._ended = True
            await discard(self._receive)


async def read_body(receive: Receive, headers: dict[str, str], limit: int) -> bytes:
    """Return the whole body."""
    body = await BodyStream.opened(receive, headers, limit)
    try:
        chunks = [chunk async for chunk in body]
    finally:
        await body.close()
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def _check_declared(receive: Receive, headers: dict[str, str], limit: int) -> None:
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared.lstrip("0")[:_MOST_DIGITS] or "0") > limit:
        await discard(receive)
        raise _too_large(f"{declared} bytes", limit)


def _too_large(size: str, limit: int) -> Refusal:
    return Refusal(problem("body_too_large", f"{size}; the limit is {limit}"))


async def discard(receive: Receive) -> None:
    """Read what nobody wants, for a while: one closed with data unread is reset, and nobody learns why.

    That is for callers that send everything before they listen; those that send for ever are cut off.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            while (await receive()).get("more_body", False):
                pass
