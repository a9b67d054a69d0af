"""The test's control plane behind a real socket: what the agent sends passes through a real HTTP connection.

Faults that lose a request or a reply really close the connection.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ostler.client.transport import HttpRequest, HttpResponse, TransportError
from tests.unit.agent.control_plane import ControlPlane


class HttpServer:
    """Serves a plane; ``url`` is where."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.url = ""
        self.connections = 0
        self.ready_status = 200
        self._open: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.url = f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        assert self._server is not None
        return self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Go away as a killed server does: no farewell to anyone."""
        assert self._server is not None
        self._server.close()
        tasks = [task for task in self._open.values() if task is not None]
        for writer in self._open:
            writer.transport.abort()
        await self.plane.hang_up()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open[writer] = asyncio.current_task()
        try:
            while (request := await _request(reader)) is not None:
                if request.path == "/readyz":
                    response = HttpResponse(self.ready_status, {"date": self.plane.date}, b"{}")
                else:
                    response = await self.plane.handle(request)
                writer.write(_bytes(response))
                await writer.drain()
        except (TransportError, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open.pop(writer, None)
            writer.transport.abort()


@asynccontextmanager
async def serving(plane: ControlPlane | None = None) -> AsyncGenerator[HttpServer]:
    server = HttpServer(plane or ControlPlane())
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def _request(reader: asyncio.StreamReader) -> HttpRequest | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return HttpRequest(method, path, headers, body, 60.0)


def _bytes(response: HttpResponse) -> bytes:
    headers = {**response.headers, "content-length": str(len(response.body))}
    lines = [f"HTTP/1.1 {response.status} X", *(f"{name}: {value}" for name, value in headers.items() if value)]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + response.body
