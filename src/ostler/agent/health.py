"""The local health endpoint: ``/healthz`` (in contact?), ``/readyz`` (taking jobs?) and ``/metrics``.

Meant for probes on the same host or pod: it listens for everyone, tells nothing secret and takes no input. One small
reply per connection, no web server.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from ostler.agent.logging import Log
from ostler.agent.metrics import Contact

_LONGEST_REQUEST = 8192
_SECONDS = 5.0


class Health(NamedTuple):
    """What the endpoint asks: the state of each runner, and the metrics of all."""

    contacts: Callable[[], list[Contact]]
    exposition: Callable[[], str]


async def serve_health(health: Health, port: int, log: Log, host: str = "") -> asyncio.Server | None:
    """Listen, or say why not: a taken port is no reason to do no work."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_reply(health, head.split(b" ", 2)[1].partition(b"?")[0].decode("latin-1")))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, IndexError) as error:
            log.debug("health_request_dropped", reason=type(error).__name__)
        finally:
            writer.close()

    try:
        return await asyncio.start_server(answer, host or None, port, limit=_LONGEST_REQUEST)
    except OSError as error:
        log.warning("health_unavailable", port=port, reason=str(error))
        return None


def _reply(health: Health, path: str) -> bytes:
    if path == "/metrics":
        return _response(200, health.exposition(), "text/plain; version=0.0.4")
    if path not in {"/healthz", "/readyz", "/"}:
        return _response(404, "not found\n", "text/plain")
    contacts = health.contacts()
    well = all(one.ready if path == "/readyz" else one.healthy for one in contacts)
    body = {"status": "healthy" if well else "unhealthy", "runners": [one._asdict() for one in contacts]}
    return _response(200 if well else 503, msgspec.json.encode(body).decode() + "\n", "application/json")


def _response(status: int, text: str, media_type: str) -> bytes:
    body = text.encode()
    reason = {200: "OK", 404: "Not Found", 503: "Service Unavailable"}[status]
    head = f"HTTP/1.1 {status} {reason}\r\ncontent-type: {media_type}\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body
