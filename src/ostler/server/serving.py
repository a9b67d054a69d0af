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
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ostler.server.errors import AddressUnusable, PortInUse

_GRACE_SECONDS = 10
_HEAD_SECONDS = 30.0
_LONGEST_HEAD = 65_536
_BACKLOG = 16_384
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class GuardedProtocol(HttpToolsProtocol):
    """Gives a connection only so much time and memory until its first request is understood.

    The parser itself gathers an address or a header for as long as it grows.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Start the time within which a request must have come."""
        super().connection_made(transport)
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = self.loop.call_later(_HEAD_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Count what comes before a request is understood."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > _LONGEST_HEAD:
            self.transport.write(_HEAD_TOO_LARGE)
            self.transport.close()

    def on_headers_complete(self) -> None:
        """The head is whole; what follows is limited by the call it is for."""
        self._head_bytes = 0
        self._stop_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body is no part of a head."""
        self._head_bytes = 0
        super().on_body(body)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


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
