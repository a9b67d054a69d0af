"""HTTP between simulated processes: the client's `Transport` on one side, ASGI applications on the other.

A host name may be served by several processes, as behind a load balancer; each request goes to one of those that live.
Directions between two nodes can be cut one by one. Everything in flight belongs to the network, not to its sender: a
request that has left a process arrives even if the process has died since.
"""

import asyncio
from collections.abc import AsyncIterator
from contextvars import Context

from starlette.types import ASGIApp

from ostler.client.transport import HttpRequest, HttpResponse, StreamRefused, TransportError
from ostler.effects import Random
from ostler.testing.asgi import Lifespan
from ostler.testing.exchange import Action, Exchange, Head, Item, Listener
from ostler.testing.faults import Fault, Faults
from ostler.testing.loop import SimLoop
from ostler.testing.node import Process

FASTEST_SECONDS = 0.000_2
SLOWEST_SECONDS = 0.004
DELAYED_SECONDS = 8.0


class Network:
    """All wires of one simulated world."""

    def __init__(self, loop: SimLoop, random: Random, faults: Faults) -> None:
        self.faults = faults
        self._loop = loop
        self._random = random
        self._listeners: dict[str, list[Listener]] = {}
        self._cuts: set[tuple[str, str]] = set()

    async def serve(self, process: Process, host: str, app: ASGIApp) -> None:
        """Run the application in this process under this host name until the task is cancelled."""
        lifespan = Lifespan(app)
        await lifespan.startup()
        listener = Listener(process, app, lifespan.state)
        listeners = self._listeners.setdefault(host, [])
        listeners.append(listener)
        process.watch(lambda _: listeners.remove(listener) if listener in listeners else None)
        try:
            await self._loop.create_future()
        finally:
            if process.alive:
                listeners.remove(listener)
                await lifespan.shutdown()

    def transport(self, process: Process, host: str) -> "SimTransport":
        return SimTransport(self, process, host)

    def kill(self, process: Process) -> None:
        """Let a process die between sending a request and acting on the reply, where it is least welcome."""
        if self.faults.fires(Fault.KILL_AT_SEND):
            process.fall(power=self._random.below(2) == 0)
            process.check()

    def cut(self, sender: str, receiver: str) -> None:
        """From now on nothing gets from one node to the other; the way back is another matter."""
        self._cuts.add((sender, receiver))

    def heal(self, sender: str, receiver: str) -> None:
        self._cuts.discard((sender, receiver))

    def heal_all(self) -> None:
        self._cuts.clear()

    def cut_between(self, sender: Process, receiver: Process) -> bool:
        return (sender.node.name, receiver.node.name) in self._cuts

    def listener(self, host: str) -> Listener | None:
        alive = self._listeners.get(host)
        return self._random.choice(alive) if alive else None

    def latency(self) -> float:
        slowest = DELAYED_SECONDS if self.faults.fires(Fault.DELAY) else SLOWEST_SECONDS
        return self._random.uniform(FASTEST_SECONDS, slowest)

    def later(self, seconds: float, action: Action, *, after: float = 0.0) -> float:
        """Let it happen outside every process, not before `after`; returns the time at which it will."""
        when = max(self._loop.time() + seconds, after)
        self._loop.call_at(when, action, context=Context())
        return when


class SimTransport:
    """The client's `Transport` of one process to one host."""

    def __init__(self, network: Network, process: Process, host: str) -> None:
        self._network = network
        self._process = process
        self._host = host
        self._open: dict[Exchange, Exchange | None] = {}

    async def send(self, request: HttpRequest) -> HttpResponse:
        exchange = self._begin(request)
        try:
            async with asyncio.timeout(request.deadline_seconds):
                head = await _next_head(exchange)
                body = await _rest(exchange)
                self._network.kill(self._process)
                return HttpResponse(head.status, head.headers, body)
        except TimeoutError:
            raise TransportError("no reply before the deadline", sent=exchange.sent) from None
        finally:
            self._end(exchange)

    async def stream(self, request: HttpRequest) -> AsyncIterator[bytes]:
        exchange = self._begin(request)
        try:
            async with asyncio.timeout(request.deadline_seconds):
                head = await _next_head(exchange)
                if not 200 <= head.status < 300:
                    raise StreamRefused(HttpResponse(head.status, head.headers, await _rest(exchange)))
            while True:
                item = _checked(await exchange.inbox.get())
                if not isinstance(item, bytes):
                    return
                yield item
        except TimeoutError:
            raise TransportError("no reply before the deadline", sent=exchange.sent) from None
        finally:
            self._end(exchange)

    async def close(self) -> None:
        for exchange in list(self._open):
            exchange.inbox.put_nowait(TransportError("the transport was closed", sent=True))

    def _begin(self, request: HttpRequest) -> Exchange:
        self._process.check()
        exchange = Exchange(self._network, self._process, self._host, request)
        exchange.begin()
        duplicate = None
        if self._network.faults.fires(Fault.DUPLICATE):
            duplicate = Exchange(self._network, self._process, self._host, request)
            duplicate.begin()
        self._open[exchange] = duplicate
        self._network.kill(self._process)
        return exchange

    def _end(self, exchange: Exchange) -> None:
        if self._process.alive:
            duplicate = self._open.pop(exchange, None)
            exchange.leave()
            if duplicate is not None:
                duplicate.leave()


async def _next_head(exchange: Exchange) -> Head:
    head = _checked(await exchange.inbox.get())
    if not isinstance(head, Head):
        raise TransportError("the reply had no head", sent=True)
    return head


async def _rest(exchange: Exchange) -> bytes:
    body = bytearray()
    while isinstance(item := _checked(await exchange.inbox.get()), bytes):
        body += item
    return bytes(body)


def _checked(item: Item) -> Head | bytes | None:
    if isinstance(item, TransportError):
        raise item
    return item
