"""Running the application on uvicorn: listening, and stopping without cutting anyone off.

A stop first tells the application to drain, which answers every held poll and ends every stream; only then are the
connections closed. Without that order a server with open streams would not stop before its time-out.
"""

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Callable, Generator
from enum import Enum
from http import HTTPStatus
from types import FrameType

import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ostler.protocol.problem import problem
from ostler.server.errors import AddressUnusable, PortInUse

_GRACE_SECONDS = 10
_HEAD_SECONDS = 30.0
_BODY_SECONDS = 30.0
_SLOWEST_BODY = 512
_LONGEST_HEAD = 65_536
_BACKLOG = 16_384
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_encode = msgspec.json.Encoder().encode


class _Awaited(Enum):
    """What of a request a connection is in the middle of."""

    NOTHING = "nothing"
    HEAD = "head"
    BODY = "body"


class GuardedProtocol(HttpToolsProtocol):
    """Gives a connection only so much time and memory for a request's head, and asks its body to keep coming.

    The parser itself gathers an address or a header for as long as it grows, and nothing else ends a request that
    never gets whole. What no handler ever sees is answered by a problem too.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Start the time within which a request must have come."""
        super().connection_made(transport)
        self._awaited = _Awaited.HEAD
        self._head_bytes = 0
        self._body_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._start_timer(_HEAD_SECONDS)

    def data_received(self, data: bytes) -> None:
        """Count what comes before a request is understood, and watch a request that is not whole yet."""
        if self._awaited is _Awaited.NOTHING:
            self._awaited = _Awaited.HEAD
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > _LONGEST_HEAD:
            self._refuse("request_head_too_large", f"the limit is {_LONGEST_HEAD} bytes")
        elif self._timer is None:
            self._watch()

    def on_headers_complete(self) -> None:
        """The head is whole; what follows is limited by the call it is for."""
        self._head_bytes = self._body_bytes = 0
        self._awaited = _Awaited.BODY
        self._stop_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body is no part of a head."""
        self._head_bytes = 0
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._head_bytes = 0
        self._awaited = _Awaited.NOTHING
        self._stop_timer()
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._refuse("request_malformed", msg)

    def _watch(self) -> None:
        if self._awaited is not _Awaited.NOTHING:
            self._start_timer(_HEAD_SECONDS if self._awaited is _Awaited.HEAD else _BODY_SECONDS)

    def _too_slow(self) -> None:
        self._timer = None
        enough = self.flow.read_paused or self._body_bytes >= _SLOWEST_BODY * _BODY_SECONDS
        if self._awaited is _Awaited.BODY and enough:
            self._body_bytes = 0
            self._start_timer(_BODY_SECONDS)
        elif self._awaited is _Awaited.BODY and not (self.pipeline or self.cycle.response_started):
            self._refuse("request_too_slow", f"a body must bring {_SLOWEST_BODY} bytes a second")
        else:
            self.transport.abort()

    def _refuse(self, code: str, detail: str) -> None:
        reason = problem(code, detail)
        body = _encode(reason)
        head = (
            f"HTTP/1.1 {reason.status} {HTTPStatus(reason.status).phrase}\r\nconnection: close\r\n"
            f"content-type: application/problem+json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def _start_timer(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class GracefulServer(uvicorn.Server):
    """Drains before it closes."""

    def __init__(self, config: uvicorn.Config, drain: Callable[[], None]) -> None:
        super().__init__(config)
        self._drain = drain

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; a second signal cuts the remaining connections."""
        self._drain()
        super().handle_exit(sig, frame)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop on a signal, and leave what follows to the program: uvicorn's own way kills it before it can tidy up."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        """Begin to stop without a signal."""
        self._drain()
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """Bind the address, or say who may be in the way."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(f"{host}:{port} is already in use") from error
        raise AddressUnusable(f"cannot listen at {host}:{port}: {error.strerror or error}") from error
    listener.setblocking(False)
    return listener


def server(application: ASGIApp, drain: Callable[[], None]) -> GracefulServer:
    """Return a server that is ready to ``serve(sockets=[…])``."""
    config = uvicorn.Config(
        application,
        loop="uvloop",
        http=GuardedProtocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=True,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        backlog=_BACKLOG,
    )
    return GracefulServer(config, drain)
