"""What an orchestrator asks: is the process alive, can it serve, how is it doing; and the API's own description."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from starlette.types import Receive, Scope, Send

from ostler import __version__
from ostler.protocol.openapi import document
from ostler.server.metrics import Metrics

Check = Callable[[], Awaitable[None]]

_DEADLINE_SECONDS = 5.0
_FRESH_SECONDS = 1.0


class Probes:
    """``/livez``, ``/readyz``, ``/metrics`` and ``/api/openapi.json``; none of them needs credentials."""

    def __init__(self, checks: Mapping[str, Check], metrics: Metrics) -> None:
        self._checks = checks
        self._metrics = metrics
        self._openapi = b""
        self._look: asyncio.Future[dict[str, str]] | None = None
        self._look_until = 0.0
        self.draining = False

    def serves(self, path: str) -> bool:
        """Whether the path is a probe's."""
        return path in ("/livez", "/readyz", "/metrics", "/api/openapi.json")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a probe."""
        del receive
        path = scope["path"]
        if path == "/livez":
            await _answer(send, 200, b"ok\n", "text/plain; charset=utf-8")
        elif path == "/readyz":
            findings = await self.findings()
            status = 200 if not any(findings.values()) else 503
            await _answer(send, status, msgspec.json.encode({"ready": status == 200, "checks": findings}))
        elif path == "/metrics":
            await _answer(send, 200, self._metrics.exposition(), "text/plain; version=0.0.4; charset=utf-8")
        else:
            self._openapi = self._openapi or msgspec.json.encode(document(__version__))
            await _answer(send, 200, self._openapi)

    async def findings(self) -> dict[str, str]:
        """Return what every check found; an empty text means that it passed.

        Anyone may ask, and checks write: so all who ask within a second share one look.
        """
        now = asyncio.get_running_loop().time()
        if self._look is None or now >= self._look_until:
            self._look = asyncio.ensure_future(self._run_checks())
            self._look_until = now + _FRESH_SECONDS
        findings = dict(await asyncio.shield(self._look))
        if self.draining:
            findings["draining"] = "this server is shutting down"
        return findings

    async def _run_checks(self) -> dict[str, str]:
        names = list(self._checks)
        results = await asyncio.gather(*(self._finding(self._checks[name]) for name in names))
        return dict(zip(names, results, strict=True))

    async def _finding(self, check: Check) -> str:
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                await check()
        except TimeoutError:
            return f"no answer within {_DEADLINE_SECONDS:g} s"
        except Exception as error:  # noqa: BLE001 - whatever a check raises is its finding
            return f"{type(error).__name__}: {error}"
        return ""


async def _answer(send: Send, status: int, body: bytes, media_type: str = "application/json") -> None:
    headers = [
        (b"content-type", media_type.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
