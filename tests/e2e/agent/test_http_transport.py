"""The client's own HTTP: kept connections, deadlines, TLS, proxies, streams, and servers that misbehave."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ostler.client import http_connection, http_transport
from ostler.client.http_transport import HttpTransport
from ostler.client.transport import HttpRequest, StreamRefused, TransportError
from tests.e2e.agent.certificates import make_certificate

Handler = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\nX-A: 2\r\n\r\nok"


def get(path: str = "/", *, deadline: float = 5.0, body: bytes = b"") -> HttpRequest:
    return HttpRequest("POST" if body else "GET", path, {"accept": "*/*"}, body, deadline)


class Server:
    """Answers each request with what the test's handler writes."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.heads: list[bytes] = []
        self.connections = 0
        self.port = 0
        self.open: dict[asyncio.Task[None] | None, asyncio.StreamWriter] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open[asyncio.current_task()] = writer
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                await self.handler(head, reader, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()


@asynccontextmanager
async def serving(handler: Handler, context: ssl.SSLContext | None = None) -> AsyncGenerator[Server]:
    server = Server(handler)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for writer in server.open.values():
            writer.transport.abort()
        await asyncio.gather(*(task for task in server.open if task), return_exceptions=True)


async def say_ok(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(OK)


def test_connections_are_kept_and_used_again() -> None:
    async def scenario() -> None:
        async with serving(say_ok) as server:
            transport = HttpTransport(f"http://127.0.0.1:{server.port}/base/", {})
            replies = [await transport.send(get("/x?q=1")) for _ in range(5)]
            reply = replies[-1]
            assert (reply.status, reply.body, reply.headers["x-a"]) == (200, b"ok", "1, 2")
            assert server.connections == 1
            assert server.heads[0].startswith(b"GET /base/x?q=1 HTTP/1.1\r\nhost: 127.0.0.1:")
            await asyncio.gather(*(transport.send(get()) for _ in range(4)))
            assert server.connections <= 4
            await transport.close()
            with pytest.raises(TransportError) as raised:
                await transport.send(get())
            assert not raised.value.sent

    asyncio.run(scenario())


def test_a_kept_connection_that_the_server_closed_meanwhile_is_replaced() -> None:
    async def close_after(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK.replace(b"X-A: 1", b"Connection: close") if b"/last" in head else OK)
        if b"/drop" in head:
            await writer.drain()
            writer.close()
            raise ConnectionError

    async def scenario() -> None:
        async with serving(close_after) as server:
            transport = HttpTransport(f"http://127.0.0.1:{server.port}", {})
            for path in ("/drop", "/last", "/x"):
                assert (await transport.send(get(path))).status == 200
                await asyncio.sleep(0)
            assert server.connections == 3
            await transport.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", b"abcde"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""),
    ],
)
def test_every_way_to_delimit_a_reply(answer: bytes, body: bytes) -> None:
    async def speak(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for byte in answer:
            writer.write(bytes([byte]))

    async def scenario() -> None:
        async with serving(speak) as server:
            transport = HttpTransport(f"http://127.0.0.1:{server.port}", {})
            for _ in range(2):
                assert (await transport.send(get())).body == body
            assert server.connections == 1
            await transport.close()

    asyncio.run(scenario())


def test_a_large_body_goes_out_whole() -> None:
    sizes: list[int] = []

    async def count(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        sizes.append(len(await reader.readexactly(length)))
        writer.write(OK)

    async def scenario() -> None:
        async with serving(count) as server:
            transport = HttpTransport(f"http://127.0.0.1:{server.port}", {})
            await transport.send(get(body=b"x" * 3_000_000))
            assert sizes == [3_000_000]
            await transport.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"", "closed by the server"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "closed by the server"),
        (b"SSH-2.0-OpenSSH\r\n", "not HTTP"),
    ],
)
def test_a_server_that_breaks_off_or_is_none(answer: bytes, says: str) -> None:
    async def break_off(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        raise ConnectionError

    async def scenario() -> None:
        async with serving(break_off) as server:
            transport = HttpTransport(f"http://127.0.0.1:{server.port}", {})
            with pytest.raises(TransportError, match=says) as raised:
                await transport.send(get())
            assert raised.value.sent
            await transport.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("refusal", [False, True])
def test_a_reply_without_end_is_cut_off(refusal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the length that it announces: what counts is what comes. A refused stream is held to the same."""
    for module in (http_connection, http_transport):
        monkeypatch.setattr(module, "LARGEST_REPLY", 1 << 20)

    async def pour(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 %d X\r\nTransfer-Encoding: chunked\r\n\r\n" % (500 if refusal else 200))
        while True:
            writer.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
            await writer.drain()

    async def ask(transport: HttpTransport) -> None:
        if refusal:
            async for _ in transport.stream(get()):
                pass
        else:
            await transport.send(get())

    async def scenario() -> None:
        async with serving(pour) as server:
            transport = HttpTransport(f"http://127.0.0.1:{server.port}", {})
            with pytest.raises(TransportError, match="larger than 1048576 bytes") as raised:
                await ask(transport)
            assert raised.value.sent
            assert transport._idle == [], "the rest of such a reply must not be taken for the next one"
            await transport.close()

    asyncio.run(scenario())


def test_a_deadline_ends_a_call_that_gets_no_reply() -> None:
    async def silent(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def scenario() -> None:
        async with serving(silent) as server:
            transport = HttpTransport(f"http://127.0.0.1:{server.port}", {})
            with pytest.raises(TransportError, match=r"no reply within 0\.05 s") as raised:
                await transport.send(get(deadline=0.05))
            assert raised.value.sent
            await transport.close()

    asyncio.run(scenario())


def test_nobody_listening_means_that_nothing_was_sent() -> None:
    async def scenario() -> None:
        async with serving(say_ok) as server:
            port = server.port
        transport = HttpTransport(f"http://127.0.0.1:{port}", {})
        with pytest.raises(TransportError, match="cannot connect") as raised:
            await transport.send(get())
        assert not raised.value.sent

    asyncio.run(scenario())


def test_certificates_are_verified_and_an_own_authority_can_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, context = make_certificate(tmp_path)

    async def scenario(*, trusted: bool) -> None:
        async with serving(say_ok, context) as server:
            transport = HttpTransport(f"https://localhost:{server.port}", {})
            if trusted:
                assert (await transport.send(get())).status == 200
            else:
                with pytest.raises(TransportError, match="SSL_CERT_FILE") as raised:
                    await transport.send(get())
                assert not raised.value.sent
            await transport.close()

    asyncio.run(scenario(trusted=False))
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    asyncio.run(scenario(trusted=True))


@asynccontextmanager
async def tunnelling(status: bytes = b"200 OK") -> AsyncGenerator[Server]:
    """A proxy that opens tunnels."""

    async def tunnel(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 " + status + b"\r\n\r\n")
        if not status.startswith(b"200"):
            raise ConnectionError
        host, _, port = head.split(b" ")[1].decode().rpartition(":")
        other_reader, other_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(_pump(reader, other_writer), _pump(other_reader, writer))
        raise ConnectionError

    async with serving(tunnel) as server:
        yield server


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    except ConnectionError:
        pass
    writer.close()


def test_an_encrypted_server_is_reached_through_a_tunnel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, context = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))

    async def scenario() -> None:
        async with serving(say_ok, context) as server, tunnelling() as proxy:
            environment = {"HTTPS_PROXY": f"http://me:secret@127.0.0.1:{proxy.port}"}
            transport = HttpTransport(f"https://localhost:{server.port}", environment)
            for _ in range(3):
                assert (await transport.send(get("/through"))).body == b"ok"
            assert server.connections == 1
            assert proxy.heads[0].startswith(f"CONNECT localhost:{server.port} HTTP/1.1\r\n".encode())
            assert b"proxy-authorization: Basic bWU6c2VjcmV0" in proxy.heads[0]
            assert b"proxy-authorization" not in server.heads[0]
            await transport.close()

    asyncio.run(scenario())


def test_a_proxy_that_refuses_is_named() -> None:
    async def scenario() -> None:
        async with tunnelling(b"407 Proxy Authentication Required") as proxy:
            transport = HttpTransport("https://ci.example", {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}"})
            with pytest.raises(TransportError, match="refused the tunnel: HTTP 407"):
                await transport.send(get())

    asyncio.run(scenario())


def test_a_plain_server_is_reached_through_a_proxy_by_its_whole_address() -> None:
    async def scenario() -> None:
        async with serving(say_ok) as proxy:
            transport = HttpTransport("http://ci.example/base", {"http_proxy": f"http://127.0.0.1:{proxy.port}"})
            await transport.send(get("/x"))
            assert proxy.heads[0].startswith(b"GET http://ci.example/base/x HTTP/1.1\r\nhost: ci.example\r\n")
            await transport.close()

    asyncio.run(scenario())


def test_a_stream_comes_as_it_is_sent_and_ends_when_it_is_silent_for_too_long() -> None:
    go_on = asyncio.Event()

    async def drip(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if b"/refused" in head:
            writer.write(b"HTTP/1.1 404 X\r\nContent-Length: 4\r\n\r\nnone")
            return
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        await writer.drain()
        await go_on.wait()
        writer.write(b"6\r\nsecond\r\n" + (b"" if b"/silent" in head else b"0\r\n\r\n"))
        await writer.drain()
        if b"/silent" in head:
            await reader.read()

    async def scenario() -> None:
        async with serving(drip) as server:
            transport = HttpTransport(f"http://127.0.0.1:{server.port}", {})
            pieces: list[bytes] = []
            async for piece in transport.stream(get()):
                pieces.append(piece)
                go_on.set()
            assert pieces == [b"first", b"second"]
            with pytest.raises(TransportError, match="silent"):
                async for _ in transport.stream(get("/silent", deadline=0.1)):
                    pass
            with pytest.raises(StreamRefused) as raised:
                async for _ in transport.stream(get("/refused")):
                    pass
            assert raised.value.response.body == b"none"
            await transport.close()

    asyncio.run(scenario())


def test_a_slow_reader_holds_the_sender_back() -> None:
    async def pour(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 33554432\r\n\r\n")
        for _ in range(512):
            writer.write(b"x" * 65536)
            await writer.drain()

    async def scenario() -> None:
        async with serving(pour) as server:
            transport = HttpTransport(f"http://127.0.0.1:{server.port}", {})
            total, largest = 0, 0
            async for piece in transport.stream(get()):
                total += len(piece)
                largest = max(largest, len(piece))
                await asyncio.sleep(0)
            assert total == 33_554_432
            assert largest <= 2 << 20
            await transport.close()

    asyncio.run(scenario())


def test_no_header_can_be_smuggled() -> None:
    async def scenario() -> None:
        async with serving(say_ok) as server:
            transport = HttpTransport(f"http://127.0.0.1:{server.port}", {})
            with pytest.raises(ValueError, match="line break"):
                await transport.send(HttpRequest("GET", "/", {"x": "a\r\nevil: 1"}, b"", 1.0))
            assert server.heads == []

    asyncio.run(scenario())
