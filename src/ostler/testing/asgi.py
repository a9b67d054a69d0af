"""The ASGI side of the simulated network: scopes from requests, and an application's lifespan."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Scope

from ostler.client.transport import HttpRequest


def scope_of(request: HttpRequest, host: str, state: Mapping[str, object]) -> Scope:
    """The scope an HTTP/1.1 server would make of this request."""
    path, _, query = request.path.partition("?")
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.items()]
    names = {name for name, _ in headers}
    if b"host" not in names:
        headers.append((b"host", host.encode("ascii")))
    if request.body and b"content-length" not in names:
        headers.append((b"content-length", str(len(request.body)).encode("ascii")))
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("ascii"),
        "query_string": query.encode("ascii"),
        "root_path": "",
        "headers": headers,
        "client": ("simulated", 1),
        "server": (host, 80),
        "state": dict(state),
        "extensions": {},
    }


class Lifespan:
    """Starts and stops an application as a web server does; an application without a lifespan is left alone."""

    def __init__(self, app: ASGIApp) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._outbox: asyncio.Queue[Message | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def startup(self) -> None:
        self._task = asyncio.create_task(self._run(), name="lifespan")
        await self._exchange("startup")

    async def shutdown(self) -> None:
        if self._task is not None and not self._task.done():
            await self._exchange("shutdown")
            await self._task

    async def _exchange(self, phase: str) -> None:
        self._inbox.put_nowait({"type": f"lifespan.{phase}"})
        answer = await self._outbox.get()
        if answer is not None and answer["type"] == f"lifespan.{phase}.failed":
            raise RuntimeError(f"the application refused its {phase}: {answer.get('message', '')}")

    async def _run(self) -> None:
        scope: Scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
        try:
            await self._app(scope, self._inbox.get, self._outbox.put)
        finally:
            self._outbox.put_nowait(None)
