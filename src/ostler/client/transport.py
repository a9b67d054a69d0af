"""The narrow waist between the typed client and the network.

A transport moves one request and one reply and knows nothing of messages, tokens or retries. The simulator, the
embedded programs and the real HTTP stack each implement it, so everything above is the same code in all of them.
"""

from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple, Protocol


class HttpRequest(NamedTuple):
    """One request, complete in memory: bodies of this protocol are bounded by the server's limits."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    deadline_seconds: float


class HttpResponse(NamedTuple):
    """One reply. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TransportError(Exception):
    """The request got no reply.

    ``sent`` tells whether the server may have acted on it: a refused connection cannot have been processed, a reset
    or a timeout may have been. Callers that are not idempotent must treat ``sent`` as "it may have happened".
    """

    code = "transport_failed"
    fix = "Check that the server runs and that its address is right: OSTLER_URL, or `ostler login URL CODE`."

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent


class Transport(Protocol):
    """Moves requests to one server. Safe for concurrent use by tasks of one event loop."""

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Deliver the request and return the reply; raise ``TransportError`` if none came before the deadline."""
        ...

    def stream(self, request: HttpRequest) -> AsyncIterator[bytes]:
        """Deliver the request and yield the body of a successful reply as it arrives.

        Raises ``TransportError`` when the connection breaks, and ``StreamRefused`` when the reply is not a success.
        """
        ...

    async def close(self) -> None:
        """Drop every connection. Calls in flight fail with ``TransportError``."""
        ...


class StreamRefused(Exception):
    """The server answered a streaming request with an error; ``response`` holds the whole reply."""

    code = "stream_refused"

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(f"HTTP {response.status}")
        self.response = response
