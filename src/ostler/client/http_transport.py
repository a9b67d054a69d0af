"""The real network: a small pool of kept-alive connections to one server, through TLS and proxies where needed.

Certificates are always verified, against the system's authorities or those in SSL_CERT_FILE and SSL_CERT_DIR.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Mapping

from ostler.client.address import Address, parse_address, proxy_for
from ostler.client.http_connection import LARGEST_REPLY, HttpConnection
from ostler.client.transport import HttpRequest, HttpResponse, StreamRefused, TransportError

_CONNECT_SECONDS = 10.0
_IDLE_CONNECTIONS = 8


class HttpTransport:
    """See ``transport.Transport``. ``service_url`` may have a path, under which the endpoints then are.

    ``held_to`` is the only network address that is connected to, whatever the host's name means by then.
    """

    def __init__(
        self,
        service_url: str,
        environment: Mapping[str, str],
        *,
        authorities: ssl.SSLContext | None = None,
        held_to: str = "",
    ) -> None:
        self._held_to = held_to
        self._server = parse_address(service_url)
        self._proxy = proxy_for(self._server, environment)
        self._authorities = authorities
        self._idle: list[HttpConnection] = []
        self._active: set[HttpConnection] = set()
        self._closed = False

    async def send(self, request: HttpRequest) -> HttpResponse:
        connection: HttpConnection | None = None
        try:
            async with asyncio.timeout(request.deadline_seconds):
                connection = await self._acquire()
                return await connection.exchange(self._head(request), request.body)
        except TimeoutError:
            raise TransportError(
                f"no reply within {request.deadline_seconds:g} s", sent=connection is not None
            ) from None
        finally:
            if connection is not None:
                self._release(connection)

    async def stream(self, request: HttpRequest) -> AsyncIterator[bytes]:
        connection: HttpConnection | None = None
        try:
            async with asyncio.timeout(request.deadline_seconds) as patience:
                connection = await self._acquire()
                reply = await connection.open_stream(self._head(request))
                if not 200 <= reply.status < 300:
                    raise StreamRefused(reply._replace(body=await _whole(connection)))
                loop = asyncio.get_running_loop()
                while True:
                    patience.reschedule(loop.time() + request.deadline_seconds)
                    data = await connection.read()
                    if not data:
                        return
                    patience.reschedule(None)
                    yield data
        except TimeoutError:
            raise TransportError(
                f"the stream was silent for {request.deadline_seconds:g} s", sent=connection is not None
            ) from None
        finally:
            if connection is not None:
                self._release(connection)

    async def close(self) -> None:
        self._closed = True
        for connection in [*self._idle, *self._active]:
            connection.close()
        self._idle.clear()

    async def _acquire(self) -> HttpConnection:
        if self._closed:
            raise TransportError("this client is closed", sent=False)
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable:
                self._active.add(connection)
                return connection
        connection = await self._connect()
        self._active.add(connection)
        return connection

    def _release(self, connection: HttpConnection) -> None:
        self._active.discard(connection)
        if connection.reusable and not self._closed and len(self._idle) < _IDLE_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.close()

    async def _connect(self) -> HttpConnection:
        nearest = self._proxy or self._server
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                _, connection = await loop.create_connection(
                    HttpConnection,
                    self._held_to or nearest.host,
                    nearest.port,
                    ssl=self._context() if nearest.tls else None,
                    server_hostname=nearest.host if nearest.tls else None,
                    happy_eyeballs_delay=0.25,
                )
                if self._proxy is not None and self._server.tls:
                    connection = await self._tunnel(connection, self._proxy)
        except TimeoutError:
            raise TransportError(f"{nearest.origin} did not accept a connection", sent=False) from None
        except ssl.SSLCertVerificationError as error:
            raise TransportError(
                f"the certificate of {nearest.origin} is not trusted ({error.verify_message}); name your own authority "
                "with SSL_CERT_FILE",
                sent=False,
            ) from error
        except OSError as error:
            raise TransportError(f"cannot connect to {nearest.origin}: {_cause(error)}", sent=False) from error
        return connection

    async def _tunnel(self, connection: HttpConnection, proxy: Address) -> HttpConnection:
        loop = asyncio.get_running_loop()
        authority = f"{self._server.host}:{self._server.port}"
        head = f"CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\n"
        if proxy.authorization:
            head += f"proxy-authorization: {proxy.authorization}\r\n"
        try:
            reply = await connection.open_tunnel(f"{head}\r\n".encode("latin-1"))
        except TransportError as error:
            raise TransportError(f"the proxy {proxy.origin} hung up: {error.reason}", sent=False) from error
        if reply.status != 200:
            connection.close()
            raise TransportError(f"the proxy {proxy.origin} refused the tunnel: HTTP {reply.status}", sent=False)
        inner = HttpConnection()
        upgraded = await loop.start_tls(connection.transport, inner, self._context(), server_hostname=self._server.host)
        if upgraded is None:
            raise TransportError(f"the proxy {proxy.origin} hung up", sent=False)
        inner.connection_made(upgraded)
        return inner

    def _context(self) -> ssl.SSLContext:
        if self._authorities is None:
            self._authorities = ssl.create_default_context()
        return self._authorities

    def _head(self, request: HttpRequest) -> bytes:
        target = self._server.path + request.path
        lines = [f"host: {self._server.authority}"]
        if self._proxy is not None and not self._server.tls:
            target = self._server.origin + target
            if self._proxy.authorization:
                lines.append(f"proxy-authorization: {self._proxy.authorization}")
        if request.body or request.method in {"POST", "PUT", "PATCH"}:
            lines.append(f"content-length: {len(request.body)}")
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        text = "\r\n".join([f"{request.method} {target} HTTP/1.1", *lines])
        if text.count("\n") != len(lines) or text.count("\r") != len(lines):
            raise ValueError("a header holds a line break")
        return f"{text}\r\n\r\n".encode("latin-1")


async def _whole(connection: HttpConnection) -> bytes:
    parts: list[bytes] = []
    room = LARGEST_REPLY
    while data := await connection.read():
        parts.append(data)
        room -= len(data)
        if room < 0:
            raise TransportError(f"the reply is larger than {LARGEST_REPLY} bytes", sent=True)
    return b"".join(parts)


def _cause(error: OSError) -> str:
    """Return the system's own words: those of asyncio name the call and an address that was already said."""
    if error.errno is None or isinstance(error, ssl.SSLError):
        return str(error)
    return os.strerror(error.errno) if error.errno > 0 else error.strerror or str(error)
