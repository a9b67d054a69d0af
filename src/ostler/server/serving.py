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

from ostler.server.errors import PortInUse

_GRACE_SECONDS = 10
_BACKLOG = 16_384
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


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
        raise PortInUse(f"cannot listen at {host}:{port}: {error.strerror or error}") from error
    listener.setblocking(False)
    return listener


def server(application: ASGIApp, drain: Callable[[], None]) -> GracefulServer:
    """Return a server that is ready to ``serve(sockets=[…])``."""
    config = uvicorn.Config(
        application,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=True,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        backlog=_BACKLOG,
        h11_max_incomplete_event_size=65_536,
    )
    return GracefulServer(config, drain)
