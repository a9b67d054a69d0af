"""From an ASGI request to a handler and back, for every row of the endpoint table.

Pure ASGI and table-driven: a path without parameters is one dictionary look-up. What a handler may rely on (a body
of the right type within its limit, a proven caller) is established here and nowhere else.
"""

import asyncio
import contextlib
import re
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec
import structlog
from starlette.types import Message, Receive, Scope, Send

from ostler.blobs.errors import BlobError
from ostler.effects import Ids
from ostler.protocol.endpoint import Binary, Endpoint, NoQuery, Nothing
from ostler.protocol.problem import Problem, problem
from ostler.server.authentication import Authentication
from ostler.server.body import BodyStream, ClientGone, discard, read_body
from ostler.server.call import CURRENT, Call, Handler, Handlers, Refusal, Streaming
from ostler.server.metrics import Metrics
from ostler.store.errors import DatabaseClosed, DatabaseUnavailable, DatabaseUncertain

log = structlog.get_logger("ostler.server")

_ENCODER = msgspec.json.Encoder()
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
"""An escaped NUL in JSON; PostgreSQL keeps no such text, so both databases get none."""

_JSON = "application/json"
_PROBLEM = "application/problem+json"
_BACK_MS = 1000


class Route(NamedTuple):
    """An endpoint bound to its handler and decoder."""

    endpoint: Endpoint[Any, Any]
    handler: Handler
    decoder: "msgspec.json.Decoder[Any] | None"
    segments: tuple[str, ...]


class Reply(NamedTuple):
    """A finished reply."""

    status: int
    media_type: str
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Absent(NamedTuple):
    """Why no row answers a request, and the headers that say so."""

    problem: Problem
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Router:
    """Serves the endpoints it was built with; answers 404 and 405 for the rest of its prefixes."""

    def __init__(
        self, handlers: Iterable[Handlers], authentication: Authentication, ids: Ids, metrics: Metrics
    ) -> None:
        self._authentication = authentication
        self._ids = ids
        self._metrics = metrics
        self._plain: dict[str, dict[str, Route]] = {}
        self._patterns: dict[int, list[Route]] = {}
        for part in handlers:
            for endpoint, handler in part.items():
                self._add(endpoint, handler)

    def _add(self, endpoint: Endpoint[Any, Any], handler: Handler) -> None:
        decoder = None if endpoint.request in (Binary, Nothing) else msgspec.json.Decoder(endpoint.request)
        route = Route(endpoint, handler, decoder, tuple(endpoint.path.split("/")))
        if endpoint.parameters:
            self._patterns.setdefault(len(route.segments), []).append(route)
        else:
            self._plain.setdefault(endpoint.path, {})[endpoint.method] = route

    def names(self) -> set[str]:
        """The names of the endpoints that have a handler."""
        plain = {route.endpoint.name for methods in self._plain.values() for route in methods.values()}
        return plain | {route.endpoint.name for routes in self._patterns.values() for route in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        request_id = _request_id(headers.get("x-request-id", "")) or self._ids.new("req")
        found = self._find(scope["method"], scope["path"])
        if isinstance(found, Absent):
            reply = _refused(found.problem, request_id)
            await _send(send, reply._replace(headers=reply.headers + found.headers), request_id)
            return
        route, values = found
        try:
            reply = await self._serve(route, values, headers, scope, receive, request_id)
        except ClientGone:
            return
        except Refusal as refusal:
            reply = _refused(refusal.problem, request_id)
        except (DatabaseUnavailable, DatabaseUncertain, DatabaseClosed) as error:
            log.warning("database_away", endpoint=route.endpoint.name, request_id=request_id, error=str(error))
            reply = _refused(problem("unavailable", error.code, retry_after_ms=_BACK_MS), request_id)
        except BlobError as error:
            log.warning("blobs_away", endpoint=route.endpoint.name, request_id=request_id, error=str(error))
            reply = _refused(problem("unavailable", error.code, retry_after_ms=_BACK_MS), request_id)
        except Exception:
            log.exception("call_failed", endpoint=route.endpoint.name, request_id=request_id)
            reply = _refused(problem("internal"), request_id)
        if isinstance(reply, Streaming):
            self._metrics.count_call(route.endpoint.name, reply.status)
            await _stream(send, receive, reply, request_id, bare=scope["method"] == "HEAD")
            return
        self._metrics.count_call(route.endpoint.name, reply.status)
        await _send(send, reply, request_id)

    def _find(self, method: str, path: str) -> tuple[Route, dict[str, str]] | Absent:
        method = "GET" if method == "HEAD" else method
        if "\0" in path:
            return Absent(problem("not_found", "no address holds the character NUL"))
        methods = self._plain.get(path)
        if methods is not None:
            route = methods.get(method)
            return (route, {}) if route is not None else _method_not_allowed(method, path, methods)
        segments = path.split("/")
        allowed: list[str] = []
        for route in self._patterns.get(len(segments), ()):
            values = _match(route.segments, segments)
            if values is None:
                continue
            if route.endpoint.method == method:
                return route, values
            allowed.append(route.endpoint.method)
        if allowed:
            return _method_not_allowed(method, path, allowed)
        return Absent(problem("not_found", f"no call at {path[:200]}"))

    async def _serve(
        self,
        route: Route,
        values: dict[str, str],
        headers: dict[str, str],
        scope: Scope,
        receive: Receive,
        request_id: str,
    ) -> Reply | Streaming:
        endpoint = route.endpoint
        try:
            caller = await self._authentication.caller(endpoint.auth, scope["method"], headers)
            query = _query(endpoint, scope["query_string"])
        except Refusal:
            if endpoint.streamed:
                await discard(receive)
            raise
        body = await _read(route, headers, receive)
        left = asyncio.ensure_future(_disconnected(receive)) if endpoint.held else None
        call = Call(body, caller, values, query, headers, request_id, left)
        CURRENT.set(call)
        try:
            result = await route.handler(call)
        finally:
            if left is not None:
                left.cancel()
            if isinstance(body, BodyStream):
                await body.close()
        if isinstance(result, Streaming):
            return result
        if isinstance(result, Problem):
            return _refused(result, request_id)
        if endpoint.status == 204:
            return Reply(204, _JSON, b"")
        return Reply(endpoint.status, _JSON, _ENCODER.encode(result))


def _method_not_allowed(method: str, path: str, allowed: Iterable[str]) -> Absent:
    names = ", ".join(sorted(allowed))
    reason = problem("method_not_allowed", f"{method} {path[:200]}; allowed: {names}")
    return Absent(reason, ((b"allow", names.encode()),))


def _match(pattern: tuple[str, ...], segments: list[str]) -> dict[str, str] | None:
    values: dict[str, str] = {}
    for expected, actual in zip(pattern, segments, strict=True):
        if expected.startswith("{"):
            if not actual:
                return None
            values[expected[1:-1]] = actual
        elif expected != actual:
            return None
    return values


def _query(endpoint: Endpoint[Any, Any], raw: bytes) -> msgspec.Struct:
    if endpoint.query is NoQuery:
        return NoQuery()
    try:
        pairs = dict(parse_qsl(raw.decode("utf-8"), keep_blank_values=True, max_num_fields=50, errors="strict"))
        if any("\0" in value for value in pairs.values()):
            raise Refusal(problem("query_malformed", "a value holds the character NUL"))
        return msgspec.convert(pairs, endpoint.query, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise Refusal(problem("query_malformed", str(error))) from error


async def _read(route: Route, headers: dict[str, str], receive: Receive) -> object:
    if route.endpoint.request is Nothing:
        return Nothing()
    if route.endpoint.streamed:
        return await BodyStream.opened(receive, headers, route.endpoint.body_limit)
    return _decoded(route, await read_body(receive, headers, route.endpoint.body_limit))


def _decoded(route: Route, raw: bytes) -> object:
    if route.decoder is None:
        return Binary(raw)
    if _NUL.search(raw):
        raise Refusal(problem("body_malformed", "a text holds the character NUL, which no text here may hold"))
    try:
        return route.decoder.decode(raw or b"{}")
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Refusal(problem("body_malformed", str(error))) from error


_ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
_LONGEST_ID = 80


def _request_id(given: str) -> str:
    return given if 0 < len(given) <= _LONGEST_ID and set(given) <= _ID_CHARACTERS else ""


def _refused(reason: Problem, request_id: str) -> Reply:
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if reason.retry_after_ms is not None:
        headers = ((b"retry-after", str(-(-reason.retry_after_ms // 1000)).encode()),)
    if reason.status == 401:
        headers += ((b"www-authenticate", b"Bearer"),)
    body = _ENCODER.encode(msgspec.structs.replace(reason, request_id=request_id))
    return Reply(reason.status, _PROBLEM, body, headers)


async def _send(send: Send, reply: Reply, request_id: str) -> None:
    start: Message = {
        "type": "http.response.start",
        "status": reply.status,
        "headers": [
            (b"content-type", reply.media_type.encode()),
            (b"content-length", str(len(reply.body)).encode()),
            (b"x-request-id", request_id.encode()),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
            *reply.headers,
        ],
    }
    await send(start)
    await send({"type": "http.response.body", "body": reply.body})


async def _stream(send: Send, receive: Receive, reply: Streaming, request_id: str, *, bare: bool) -> None:
    headers = [
        (b"content-type", reply.media_type.encode()),
        (b"x-request-id", request_id.encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"x-accel-buffering", b"no"),
        *((name.encode(), value.encode()) for name, value in reply.headers.items()),
    ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    if bare:
        await reply.chunks.aclose()
        await send({"type": "http.response.body", "body": b""})
        return
    pump = asyncio.ensure_future(_pump(send, reply))
    gone = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({pump, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not pump.done():
            pump.cancel()
        await asyncio.gather(pump, gone, return_exceptions=True)


async def _pump(send: Send, reply: Streaming) -> None:
    try:
        async with contextlib.aclosing(reply.chunks) as chunks:
            async for chunk in chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
    except Exception:
        # Without its last piece the server cuts the connection: half a log must not look like a whole one.
        log.exception("stream_broken")
        return
    await send({"type": "http.response.body", "body": b""})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
