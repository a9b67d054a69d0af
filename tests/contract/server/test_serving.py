"""The application on a real socket: connections that misbehave, and a stop that cuts nobody off."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager

import msgspec
import pytest

from ostler.server import serving
from ostler.server.metrics import Metrics
from ostler.server.probes import Probes
from ostler.server.serving import GracefulServer, listen, server
from ostler.store.inline import InlineDatabase
from tests.contract.server.installation import Installation


class Site:
    """A listening server and ways to talk to it."""

    def __init__(self, installation: Installation, running: GracefulServer, port: int) -> None:
        self.installation = installation
        self.running = running
        self.port = port

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)


def _play(scene: Callable[[Site], Coroutine[None, None, None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(20), _site() as site:
            await scene(site)

    asyncio.run(whole())


@asynccontextmanager
async def _site() -> AsyncGenerator[Site]:
    database = InlineDatabase()
    installation = Installation(database)
    listener = listen("127.0.0.1", 0)
    running = server(installation.control.application, installation.control.drain)
    running.config.loop = "asyncio"
    task = asyncio.create_task(running.serve(sockets=[listener]))
    started = asyncio.create_task(installation.control.started.wait())
    await asyncio.wait({task, started}, return_when=asyncio.FIRST_COMPLETED)
    try:
        yield Site(installation, running, listener.getsockname()[1])
    finally:
        running.stop()
        await task
        await database.close()


async def _reply(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
    return int(head[9:12]), await reader.readexactly(length)


@pytest.mark.parametrize("start", [b"GET / HTTP/1.1\r\nx: ", b"GET /", b"GET / HTTP/1.1\r\n"])
def test_a_head_without_end_is_cut_off(start: bytes) -> None:
    async def scene(site: Site) -> None:
        reader, writer = await site.connect()
        writer.write(start)
        fill = b"y: z\r\n" * 2000 if start.endswith(b"\n") else b"a" * 12_000
        try:
            for _ in range(20):
                writer.write(fill)
                await writer.drain()
            answer = await reader.read()
        except ConnectionError:
            answer = b""
        assert answer[:12] in (b"", b"HTTP/1.1 431", b"HTTP/1.1 400")
        assert not answer or b'"code":"request_' in answer
        writer.close()
        again, other = await site.connect()
        other.write(b"GET /livez HTTP/1.1\r\n\r\n")
        assert await _reply(again) == (200, b"ok\n")
        other.close()

    _play(scene)


def test_a_connection_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_HEAD_SECONDS", 0.05)

    async def scene(site: Site) -> None:
        reader, writer = await site.connect()
        writer.write(b"GET /livez HT")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()

    _play(scene)


_HEADS = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"FOO /api/v1/runs HTTP/1.1\r\n\r\n",
    b"POST /api/v1/runs HTTP/1.1\r\ncontent-length: x\r\n\r\n",
    b"POST /api/v1/runs HTTP/1.1\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
]


@pytest.mark.parametrize("sent", _HEADS)
def test_what_is_no_http_is_answered_by_a_problem(sent: bytes) -> None:
    async def scene(site: Site) -> None:
        reader, writer = await site.connect()
        writer.write(sent)
        status, body = await _reply(reader)
        assert (status, msgspec.json.decode(body)["code"]) == (400, "request_malformed")
        writer.close()

    _play(scene)


def test_a_length_may_have_any_number_of_zeros() -> None:
    async def scene(site: Site) -> None:
        reader, writer = await site.connect()
        writer.write(b"POST /api/v1/login HTTP/1.1\r\ncontent-length: " + b"0" * 5000 + b"2\r\n\r\n{}")
        assert (await _reply(reader))[0] == 400
        writer.close()

    _play(scene)


@pytest.mark.parametrize("before", [0, 1])
def test_a_body_that_hardly_comes_is_cut_off(monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    monkeypatch.setattr(serving, "_BODY_SECONDS", 0.05)

    async def scene(site: Site) -> None:
        reader, writer = await site.connect()
        for _ in range(before):
            writer.write(b"GET /livez HTTP/1.1\r\n\r\n")
            assert await _reply(reader) == (200, b"ok\n")
        writer.write(b"POST /agent/v1/enrolments HTTP/1.1\r\ncontent-length: 1000\r\n\r\n{")
        status, body = await _reply(reader)
        assert (status, msgspec.json.decode(body)["code"]) == (408, "request_too_slow")
        assert await reader.read() == b""
        writer.close()

    _play(scene)


def test_a_slow_body_that_keeps_coming_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_BODY_SECONDS", 0.02)
    monkeypatch.setattr(serving, "_SLOWEST_BODY", 1)

    async def scene(site: Site) -> None:
        reader, writer = await site.connect()
        writer.write(b"POST /api/v1/login HTTP/1.1\r\ncontent-length: 200\r\n\r\n")
        for _ in range(200):
            writer.write(b" ")
            await asyncio.sleep(0.002)
        assert (await _reply(reader))[0] == 400
        writer.close()

    _play(scene)


def test_a_later_head_that_never_ends_is_cut_off_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_HEAD_SECONDS", 0.2)

    async def scene(site: Site) -> None:
        reader, writer = await site.connect()
        writer.write(b"GET /livez HTTP/1.1\r\n\r\n")
        assert await _reply(reader) == (200, b"ok\n")
        writer.write(b"GET /livez HT")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            async with asyncio.timeout(5):
                await reader.readexactly(1)
        writer.close()

    _play(scene)


def test_an_unread_body_does_not_spoil_the_next_request() -> None:
    async def scene(site: Site) -> None:
        reader, writer = await site.connect()
        for _ in range(2):
            writer.write(b"POST /api/v1/nothing HTTP/1.1\r\ncontent-length: 300000\r\n\r\n" + b"x" * 300_000)
            assert (await _reply(reader))[0] == 404
        writer.write(b"GET /livez HTTP/1.1\r\n\r\n")
        assert await _reply(reader) == (200, b"ok\n")
        writer.close()

    _play(scene)


def test_a_stop_answers_polls_and_ends_streams_first() -> None:
    async def scene(site: Site) -> None:
        person, runner = await site.installation.user(), await site.installation.runner()
        run = await person.submit()
        stream, following = await site.connect()
        following.write(
            f"GET /api/v1/jobs/{run['jobs'][0]['id']}/log/follow HTTP/1.1\r\n"
            f"authorization: Bearer {person.token}\r\n\r\n".encode()
        )
        assert b"200 OK" in await stream.readuntil(b"retry: 500\n\n")
        await runner.work()
        reader, polling = await site.connect()
        body = b'{"key": "12345678", "slots": [], "wait_ms": 60000}'
        head = f"POST /agent/v1/claims HTTP/1.1\r\nauthorization: Bearer {runner.token}\r\n"
        polling.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        probe, probing = await site.connect()
        probing.write(b"GET /livez HTTP/1.1\r\n\r\n")
        await _reply(probe)
        site.running.stop()
        assert await _reply(reader) == (200, b'{"retry_after_ms":500}')
        assert (await stream.read()).endswith(b"0\r\n\r\n")
        for writer in (following, polling, probing):
            writer.close()

    _play(scene)


def test_many_probes_share_one_look() -> None:
    async def scene() -> None:
        looks = 0

        async def counted() -> None:
            nonlocal looks
            looks += 1

        probes = Probes({"database": counted}, Metrics())
        found = await asyncio.gather(*(probes.findings() for _ in range(50)))
        assert (looks, found[0]) == (1, {"database": ""})

    asyncio.run(scene())
