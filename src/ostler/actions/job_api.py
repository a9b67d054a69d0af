"""Calls to the server with the token of a job: synchronous, streamed in both directions, repeated when it may help.

For processes that do one thing after the other and live briefly; the agent itself has a better client. The token goes
to no other origin: redirects are not followed.
"""

import hashlib
import http.client
import io
import json
import os
import ssl
import threading
from collections.abc import Mapping
from typing import IO, NamedTuple, cast
from urllib.parse import quote, urlencode

from ostler.client.address import Address, parse_address, proxy_for
from ostler.client.errors import AddressMalformed

_TIMEOUT_SECONDS = 60.0
_PAUSES = (0.2, 1.0, 3.0, 5.0)
_CHUNK = 1 << 20
_AGAIN = frozenset({408, 429, 500, 502, 503, 504})


class CallFailed(Exception):
    """The server did not answer, or refused; ``problem`` is its code then."""

    code = "job_call_failed"

    def __init__(self, message: str, problem: str = "", status: int = 0) -> None:
        super().__init__(message)
        self.problem = problem
        self.status = status


class Downloaded(NamedTuple):
    """What came with the bytes."""

    size: int
    digest: str
    """SHA-256 in hexadecimal digits, of the bytes that arrived."""
    headers: Mapping[str, str]


class JobApi:
    """One server and one token."""

    def __init__(self, server: str, token: str, environment: Mapping[str, str] | None = None) -> None:
        try:
            self._server = parse_address(server)
            self._environment = os.environ if environment is None else environment
            self._proxy = proxy_for(self._server, self._environment)
        except AddressMalformed as reason:
            raise CallFailed(str(reason)) from reason
        self._token = token

    def call(
        self, method: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> dict[str, object]:
        """Send and receive JSON."""
        content = b"" if body is None else json.dumps(body).encode()
        answer = io.BytesIO()
        self._repeated(method, path, query, (io.BytesIO(content), len(content)), answer)
        return _decoded(answer.getvalue())

    def upload(self, path: str, file: str, query: Mapping[str, str] | None = None) -> dict[str, object]:
        """Put the bytes of a file."""
        answer = io.BytesIO()
        with open(file, "rb") as opened:
            self._repeated("PUT", path, query, (opened, os.path.getsize(file)), answer)
        return _decoded(answer.getvalue())

    def download(self, path: str, file: str, query: Mapping[str, str] | None = None, span: str = "") -> Downloaded:
        """Write what a path holds to a file; ``span`` is a Range header for a part of it."""
        with open(file, "wb") as opened:
            headers = self._repeated("GET", path, query, None, opened, span)
        with open(file, "rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        return Downloaded(os.path.getsize(file), digest, headers)

    def _repeated(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: tuple[IO[bytes], int] | None,
        answer: IO[bytes],
        span: str = "",
    ) -> Mapping[str, str]:
        """Call until there is an answer that repeating would not change."""
        target = self._server.path + path + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        for pause in (*_PAUSES, None):
            if body is not None:
                body[0].seek(0)
            answer.seek(0)
            answer.truncate()
            try:
                return self._once(method, target, body, answer, span)
            except (OSError, http.client.HTTPException) as reason:
                failure = CallFailed(f"{self._server.origin} did not answer: {reason or type(reason).__name__}")
            except CallFailed as reason:
                failure = reason
            if pause is None or (failure.status and failure.status not in _AGAIN):
                raise failure
            threading.Event().wait(pause)
        raise CallFailed("no call was made")

    def _once(
        self, method: str, target: str, body: tuple[IO[bytes], int] | None, answer: IO[bytes], span: str
    ) -> Mapping[str, str]:
        connection = self._connection()
        try:
            headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
            if span:
                headers["Range"] = span
            if body is not None:
                headers["Content-Length"] = str(body[1])
                headers["Content-Type"] = (
                    "application/json" if isinstance(body[0], io.BytesIO) else "application/octet-stream"
                )
            proxied = self._proxy is not None and not self._server.tls
            connection.request(method, (self._server.origin if proxied else "") + target, body and body[0], headers)
            reply = connection.getresponse()
            if reply.status // 100 != 2:
                raise _refusal(reply)
            while chunk := reply.read(_CHUNK):
                answer.write(chunk)
            return {name.lower(): value for name, value in reply.getheaders()}
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        server, nearest = self._server, self._proxy or self._server
        if not server.tls:
            return http.client.HTTPConnection(nearest.host, nearest.port, timeout=_TIMEOUT_SECONDS)
        # Which certificates to trust, as the agent was told: a job's environment may say nothing of it.
        file, folder = (self._environment.get(name) or None for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
        context = ssl.create_default_context(cafile=file, capath=folder)
        secure = http.client.HTTPSConnection(nearest.host, nearest.port, timeout=_TIMEOUT_SECONDS, context=context)
        if self._proxy is not None:
            secure.set_tunnel(server.host, server.port, _proxy_headers(self._proxy))
        return secure


def _decoded(text: bytes) -> dict[str, object]:
    return cast("dict[str, object]", json.loads(text)) if text else {}


def _proxy_headers(proxy: Address) -> dict[str, str]:
    return {"Proxy-Authorization": proxy.authorization} if proxy.authorization else {}


def _refusal(reply: http.client.HTTPResponse) -> CallFailed:
    content = reply.read(_CHUNK)
    try:
        problem = cast("dict[str, object]", json.loads(content))
        said = ". ".join(str(problem[name]) for name in ("title", "detail", "fix") if problem.get(name))
        return CallFailed(said or f"status {reply.status}", str(problem.get("code", "")), reply.status)
    except (ValueError, AttributeError, TypeError):
        return CallFailed(f"the server answered with status {reply.status}", status=reply.status)
