"""The control plane as one ASGI application: the calls of the table, the pages, and the probes.

Calls are served by the table's own router; everything a browser asks for goes to the pages. Below ``/runners`` are both
pages and calls: a browser says that it wants HTML, or posts a form.
"""

from collections.abc import Awaitable, Callable

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from ostler.server.probes import Probes
from ostler.server.routing import Router

log = structlog.get_logger("ostler.server")

_CALLS = ("/api/", "/agent/", "/job/")
_BOTH = "/runners/"
_FORM = b"application/x-www-form-urlencoded"


class Application:
    """Routes each request to the part that serves it, and starts and stops the parts with the process."""

    def __init__(
        self,
        *,
        router: Router,
        pages: ASGIApp,
        probes: Probes,
        start: Callable[[], Awaitable[None]],
        stop: Callable[[], Awaitable[None]],
    ) -> None:
        self._router = router
        self._pages = pages
        self._probes = probes
        self._start = start
        self._stop = stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if self._probes.serves(path):
            await self._probes(scope, receive, send)
        elif path.startswith(_CALLS) or ((path == _BOTH[:-1] or path.startswith(_BOTH)) and not _from_a_page(scope)):
            await self._router(scope, receive, send)
        else:
            await self._pages(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._start()
        except Exception as error:
            log.exception("start_failed")
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._stop()
        await send({"type": "lifespan.shutdown.complete"})


def _from_a_page(scope: Scope) -> bool:
    """Whether a browser asks to be shown something, or posts a form."""
    name, kind = (b"content-type", _FORM) if scope["method"] == "POST" else (b"accept", b"text/html")
    return any(header == name and kind in value for header, value in scope["headers"])
