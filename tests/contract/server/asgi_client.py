"""A client without a network: it calls an ASGI application as a web server would, also piece by piece."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec
from starlette.types import ASGIApp, Message, Scope


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401 - the edge
        return msgspec.json.decode(self.body)

    @property
    def code(self) -> str:
        """The code of the problem that this is."""
        assert self.headers["content-type"] == "application/problem+json", self.body
        return self.json()["code"]


class Exchange:
    """One request under way."""

    def __init__(self, body: list[bytes]) -> None:
        self._incoming: list[Message] = [
            {"type": "http.request", "body": part, "more_body": place < len(body) - 1}
            for place, part in enumerate(body)
        ]
        self.gone = asyncio.Event()
        self.started: asyncio.Future[tuple[int, dict[str, str]]] = asyncio.get_running_loop().create_future()
        self.pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    def cut(self) -> None:
        """Let the connection end before the last piece of the body."""
        self._incoming[-1] = {"type": "http.disconnect"}

    async def receive(self) -> Message:
        if self._incoming:
            return self._incoming.pop(0)
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
            self.started.set_result((message["status"], headers))
            return
        if message.get("body"):
            self.pieces.put_nowait(message["body"])
        if not message.get("more_body", False):
            self.pieces.put_nowait(None)


class AsgiClient:
    """See the module."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application
        self.latest: Exchange | None = None
        """What was asked last, for those who leave before they are answered."""

    async def request(self, method: str, target: str, *body: bytes, headers: Mapping[str, str] | None = None) -> Reply:
        """Send a request, its body in these pieces, and return the whole reply."""
        exchange = Exchange(list(body) or [b""])
        self.latest = exchange
        await self._application(scope_of(method, target, headers or {}), exchange.receive, exchange.send)
        status, sent = exchange.started.result()
        pieces: list[bytes] = []
        while not exchange.pieces.empty():
            pieces.append(exchange.pieces.get_nowait() or b"")
        return Reply(status, sent, b"".join(pieces))

    async def broken(self, method: str, target: str, *body: bytes, headers: Mapping[str, str]) -> None:
        """Send the beginning of a request, and go away."""
        exchange = Exchange([*body, b""])
        exchange.cut()
        await self._application(scope_of(method, target, headers), exchange.receive, exchange.send)
        assert not exchange.started.done()

    @asynccontextmanager
    async def stream(self, target: str, headers: Mapping[str, str]) -> AsyncGenerator[Exchange]:
        """Open a stream; leaving the block is leaving the server."""
        exchange = Exchange([b""])
        task = asyncio.create_task(self._run(scope_of("GET", target, headers), exchange), name=f"stream {target}")
        try:
            yield exchange
        finally:
            exchange.gone.set()
            await task

    async def _run(self, scope: Scope, exchange: Exchange) -> None:
        await self._application(scope, exchange.receive, exchange.send)


def scope_of(method: str, target: str, headers: Mapping[str, str]) -> Scope:
    """A request as a web server hands it over."""
    path, _, query = target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
        "client": ("test", 1),
        "server": ("ostler.test", 80),
        "state": {},
    }
