"""An HTTP load that costs little, and the plainest server to compare with.

    requests, seconds = await hammer(port, post("/path", body), connections=16, seconds=2)

Every connection has one request under way at a time. The generator understands only answers that say Content-Length.
A server under load runs in another process: `cpu_seconds(pid)` tells what it used.
"""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal, cast

from tests.parts.errors import PartMissing
from tests.parts.ports import LOOPBACK, free_port
from tests.parts.process import wait_until

Loop = Literal["asyncio", "uvloop"]

_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_CONNECTIONS = 16
_START_SECONDS = 10.0


def post(path: str, body: bytes, *, token: str = "", content_type: str = "application/json") -> bytes:
    """A request as it goes over the wire."""
    authorization = f"Authorization: Bearer {token}\r\n" if token else ""
    head = f"POST {path} HTTP/1.1\r\nHost: {LOOPBACK}\r\nContent-Type: {content_type}\r\n{authorization}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class _Client(asyncio.Protocol):
    """Sends the request again as soon as its answer is complete."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._buffer = b""
        self._transport: asyncio.Transport | None = None
        self.answered = 0
        self.stopping = False
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not a subclass of it.
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, body = self._buffer.partition(_END)
        if not found or len(body) < _content_length(head):
            return
        if not head.startswith(b"HTTP/1.1 2"):
            self._end(ValueError(self._buffer[:500].decode(errors="replace")))
            return
        self._buffer = b""
        self.answered += 1
        if self.stopping:
            self._end(None)
        elif self._transport is not None:
            self._transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc or ConnectionError("the server closed the connection"))

    def _end(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)
        if self._transport is not None:
            self._transport.close()


async def hammer(
    port: int, request: bytes, *, connections: int = _CONNECTIONS, seconds: float = 2.0
) -> tuple[int, float]:
    """Send the request over and over; how many answers came in how many seconds. An answer but 2xx is an error."""
    loop = asyncio.get_running_loop()
    clients: list[_Client] = []
    start = time.perf_counter()
    for _ in range(connections):
        _transport, client = await loop.create_connection(lambda: _Client(request), LOOPBACK, port)
        clients.append(client)
    await asyncio.wait([client.ended for client in clients], timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    elapsed = time.perf_counter() - start
    answered = sum(client.answered for client in clients)
    for client in clients:
        client.stopping = True
    await asyncio.gather(*(client.ended for client in clients))
    return answered, elapsed


def cpu_seconds(pid: int) -> float:
    """The CPU time that a process has used, in user and kernel mode."""
    status = Path(f"/proc/{pid}/stat")
    if not status.exists():
        raise PartMissing("the CPU time of another process is read from /proc: run this bench on Linux")
    fields = status.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def plain_requests_per_cpu_second(seconds: float, loop: Loop) -> float:
    """Small posts that the plainest server answers in a second of its CPU time."""
    port = free_port()
    with _plain_server(port, loop) as server:
        try:
            before = cpu_seconds(server.pid)
            answered, _ = await hammer(port, post("/heartbeat", b'{"leases": []}'), seconds=seconds)
            return answered / (cpu_seconds(server.pid) - before)
        finally:
            server.kill()


def _plain_server(port: int, loop: Loop) -> "subprocess.Popen[bytes]":
    server = subprocess.Popen([sys.executable, "-m", "tests.bench.plain_server", str(port), loop])
    wait_until(lambda: _listens(port), _START_SECONDS)
    return server


def _content_length(head: bytes) -> int:
    _, found, rest = head.lower().partition(_LENGTH)
    return int(rest.split(b"\r\n", 1)[0]) if found else 0


def _listens(port: int) -> bool:
    table = Path("/proc/net/tcp").read_text()
    return f":{port:04X} 00000000:0000 0A" in table
