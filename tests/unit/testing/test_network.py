import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from ostler.client.transport import HttpRequest, HttpResponse, StreamRefused, Transport, TransportError
from ostler.testing.errors import NodeDown
from ostler.testing.faults import Fault
from ostler.testing.node import Process
from ostler.testing.world import World, simulate

Talk = Callable[[World, Transport, "Server"], Coroutine[Any, Any, None]]


class Server:
    """An application that remembers what reached it."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def echo(self, request: Request) -> Response:
        try:
            body = await request.body()
        except ClientDisconnect:
            self.log.append("broken request")
            return Response(status_code=400)
        self.log.append(f"{request.method} {request.url.path}?{request.url.query} {body.decode()}")
        return PlainTextResponse(request.headers.get("x-name", "") + body.decode(), headers={"X-Reply": "yes"})

    async def hold(self, request: Request) -> Response:
        await request.body()
        self.log.append("holding")
        while not await request.is_disconnected():  # noqa: ASYNC110 - what an application has for it
            await asyncio.sleep(1)
        self.log.append("released")
        return Response()

    async def count(self, request: Request) -> Response:
        async def numbers() -> AsyncIterator[bytes]:
            for number in range(5):
                await asyncio.sleep(1)
                yield f"{number} ".encode()

        return StreamingResponse(numbers())

    async def program(self, world: World, process: Process) -> None:
        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncGenerator[dict[str, str]]:
            self.log.append("up")
            yield {"name": "state"}
            self.log.append("down")

        app = Starlette(
            routes=[
                Route("/echo", self.echo, methods=["GET", "POST"]),
                Route("/hold", self.hold, methods=["POST"]),
                Route("/count", self.count),
            ],
            lifespan=lifespan,
        )
        await world.network.serve(process, "server", app)


def converse(talk: Talk, seed: int = 1, **rates: float) -> tuple[World, Server]:
    """Let a client on one node talk to a server on another, with these faults."""
    world = World(seed, rates={Fault[name.upper()]: rate for name, rate in rates.items()})
    server = Server()

    async def scenario(world: World) -> None:
        world.node("server").start(lambda process: server.program(world, process))
        await asyncio.sleep(1)

        async def client(process: Process) -> None:
            await talk(world, world.network.transport(process, "server"), server)

        process = world.node("client").start(client)
        await asyncio.sleep(1000)
        assert not process.alive

    simulate(world, scenario)
    return world, server


def post(body: bytes = b"hello", path: str = "/echo?a=1", seconds: float = 60.0) -> HttpRequest:
    return HttpRequest("POST", path, {"X-Name": "Ann "}, body, seconds)


async def ask(transport: Transport, request: HttpRequest) -> HttpResponse | TransportError:
    try:
        return await transport.send(request)
    except TransportError as error:
        return error


async def one_post(world: World, transport: Transport, server: Server) -> None:
    server.log.append(type(await ask(transport, post())).__name__)


def test_a_request_reaches_the_application_and_its_reply_comes_back() -> None:
    async def talk(world: World, transport: Transport, server: Server) -> None:
        reply = await transport.send(post())
        assert (reply.status, reply.headers["x-reply"], reply.body) == (200, "yes", b"Ann hello")
        assert (await transport.send(post(path="/nowhere"))).status == 404

    assert converse(talk)[1].log == ["up", "POST /echo?a=1 hello"]


def test_a_host_that_nobody_serves_refuses_and_was_not_reached() -> None:
    async def talk(world: World, transport: Transport, server: Server) -> None:
        world.nodes["server"].processes[0].terminate()
        await asyncio.sleep(1)
        reply = await ask(transport, post())
        assert isinstance(reply, TransportError)
        assert not reply.sent

    world, server = converse(talk)
    assert server.log == ["up", "down"]
    assert world.faults.counts[Fault.REFUSED] == 1


def test_a_lost_request_was_never_there() -> None:
    assert converse(one_post, request_lost=1.0)[1].log == ["up", "TransportError"]


def test_a_lost_reply_leaves_the_work_done() -> None:
    assert converse(one_post, reply_lost=1.0)[1].log == ["up", "POST /echo?a=1 hello", "TransportError"]


def test_a_reply_can_break_in_its_middle() -> None:
    assert converse(one_post, reset_reply=1.0)[1].log == ["up", "POST /echo?a=1 hello", "TransportError"]


def test_a_request_can_break_in_its_middle() -> None:
    assert sorted(converse(one_post, reset_request=1.0)[1].log) == ["TransportError", "broken request", "up"]


def test_a_request_can_arrive_twice() -> None:
    log = converse(one_post, duplicate=1.0)[1].log
    assert log.count("POST /echo?a=1 hello") == 2
    assert "HttpResponse" in log


def test_requests_overtake_each_other() -> None:
    async def talk(world: World, transport: Transport, server: Server) -> None:
        await asyncio.gather(*(transport.send(post(b"%d" % number)) for number in range(20)))

    log = converse(talk)[1].log[1:]
    assert len(log) == 20
    assert log != sorted(log)


@pytest.mark.parametrize("direction", [("client", "server"), ("server", "client")])
def test_a_one_way_partition_takes_the_request_or_the_reply(direction: tuple[str, str]) -> None:
    async def talk(world: World, transport: Transport, server: Server) -> None:
        world.network.cut(*direction)
        assert isinstance(await ask(transport, post(seconds=5)), TransportError)
        world.network.heal_all()
        assert isinstance(await ask(transport, post()), HttpResponse)

    world, server = converse(talk)
    assert len(server.log) == (2 if direction[0] == "client" else 3)
    assert world.faults.counts[Fault.PARTITION] == 1


def test_a_server_that_dies_breaks_what_it_was_doing() -> None:
    async def talk(world: World, transport: Transport, server: Server) -> None:
        asking = asyncio.create_task(ask(transport, post(path="/hold")))
        await asyncio.sleep(1)
        world.nodes["server"].processes[0].kill()
        reply = await asking
        assert isinstance(reply, TransportError)
        assert reply.sent

    assert converse(talk)[1].log == ["up", "holding"]


def test_a_server_learns_that_its_client_left_but_not_that_it_lost_power() -> None:
    for end, log in (("deadline", ["up", "holding", "released"]), ("power", ["up", "holding"])):

        async def talk(world: World, transport: Transport, server: Server, end: str = end) -> None:
            if end == "power":
                asyncio.get_running_loop().call_later(2, world.nodes["client"].crash)
            await ask(transport, post(path="/hold", seconds=5))

        assert converse(talk)[1].log == log


def test_a_paused_server_answers_when_it_goes_on() -> None:
    async def talk(world: World, transport: Transport, server: Server) -> None:
        node = world.nodes["server"]
        node.pause()
        world.loop.call_later(10, node.resume)
        assert isinstance(await ask(transport, post(seconds=5)), TransportError)
        assert len(server.log) == 1
        await asyncio.sleep(10)
        assert len(server.log) == 2

    converse(talk)


def test_a_stream_arrives_in_order_piece_by_piece_even_when_slow() -> None:
    async def talk(world: World, transport: Transport, server: Server) -> None:
        request = HttpRequest("GET", "/count", {}, b"", 5.0)
        pieces = [(world.loop.time(), piece) async for piece in transport.stream(request)]
        assert b"".join(piece for _, piece in pieces) == b"0 1 2 3 4 "
        assert pieces[-1][0] - pieces[0][0] > 3

    for seed in range(10):
        converse(talk, seed, slow_stream=1.0)


def test_a_stream_breaks_with_its_server_and_with_its_transport() -> None:
    async def talk(world: World, transport: Transport, server: Server) -> None:
        async def crash() -> None:
            world.nodes["server"].crash()

        request = HttpRequest("GET", "/count", {}, b"", 5.0)
        for trouble in (transport.close, crash):
            pieces = transport.stream(request)
            await anext(pieces)
            await trouble()
            with pytest.raises(TransportError):
                await anext(pieces)

    converse(talk)


def test_a_refused_stream_tells_why() -> None:
    async def talk(world: World, transport: Transport, server: Server) -> None:
        with pytest.raises(StreamRefused) as caught:
            async for _ in transport.stream(HttpRequest("GET", "/nowhere", {}, b"", 5.0)):
                pass
        assert caught.value.response.status == 404
        assert caught.value.response.body == b"Not Found"

    converse(talk)


def test_a_process_can_die_between_request_and_reply() -> None:
    async def talk(world: World, transport: Transport, server: Server) -> None:
        try:
            await transport.send(post())
        except NodeDown:
            server.log.append("died")
            raise

    world, server = converse(talk, kill_at_send=1.0)
    assert server.log == ["up", "died", "POST /echo?a=1 hello"]
    assert world.faults.counts[Fault.KILL_AT_SEND] == 1
