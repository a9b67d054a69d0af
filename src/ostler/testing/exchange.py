"""One HTTP request on its way to a server and its reply on the way back.

The two directions are separate because they fail separately: after a lost reply the server has done its work and the
client does not know. What arrives at the client goes through one mailbox in the order it was sent, as on a TCP
connection; different exchanges overtake each other freely.
"""

import asyncio
from collections.abc import Mapping
from email.utils import formatdate
from typing import Literal, NamedTuple, Protocol

from starlette.types import ASGIApp, Message

from ostler.client.transport import HttpRequest, TransportError
from ostler.testing.asgi import scope_of
from ostler.testing.faults import Fault, Faults
from ostler.testing.node import Process

CONNECTION_LOST_SECONDS = 30.0


class Head(NamedTuple):
    """The first part of a reply."""

    status: int
    headers: Mapping[str, str]


Item = Head | bytes | TransportError | None
"""What a client can receive: the head, a piece of body, a broken connection, the end."""


class Listener(NamedTuple):
    """An application that serves requests in a process."""

    process: Process
    app: ASGIApp
    state: Mapping[str, object]


class Wire(Protocol):
    """What an exchange needs of the network."""

    faults: Faults

    def latency(self) -> float: ...
    def later(self, seconds: float, action: "Action", *, after: float = 0.0) -> float: ...
    def cut_between(self, sender: Process, receiver: Process) -> bool: ...
    def listener(self, host: str) -> Listener | None: ...


class Action(Protocol):
    """A callback without arguments."""

    def __call__(self) -> object: ...


class Exchange:
    """Carries one request; the client reads `inbox` and calls `leave` when it has lost interest."""

    def __init__(self, wire: Wire, client: Process, host: str, request: HttpRequest) -> None:
        self.inbox: asyncio.Queue[Item] = asyncio.Queue()
        self.sent = True
        self._wire = wire
        self._client = client
        self._host = host
        self._request = request
        self._listener: Listener | None = None
        self._client_gone = asyncio.Event()
        self._reply: Literal["whole", "lost", "reset", "broken"] = "whole"
        self._slow = False
        self._arrives = 0.0
        self._closed = False

    def begin(self) -> None:
        """Put the request on the wire."""
        self._client.watch(self._client_died)
        if self._wire.faults.fires(Fault.REQUEST_LOST):
            self._wire.later(CONNECTION_LOST_SECONDS, self._lose)
            return
        self._wire.later(self._wire.latency(), self._arrive)

    def leave(self) -> None:
        """The client closes its end; the server learns of it a little later."""
        if not self._closed:
            self._closed = True
            self._client.unwatch(self._client_died)
            if self._listener is None or not self._wire.cut_between(self._client, self._listener.process):
                self._wire.later(self._wire.latency(), self._client_gone.set)

    def _client_died(self, power: bool) -> None:  # noqa: FBT001 - the form of a watcher
        if power:  # nobody is left to close the connection, and the server does not notice
            self._closed = True
        else:
            self.leave()

    def _arrive(self) -> None:
        listener = self._wire.listener(self._host)
        if listener is None:
            self._wire.faults.count(Fault.REFUSED)
            self._wire.later(self._wire.latency(), lambda: self._break("connection refused", sent=False))
            return
        if self._wire.cut_between(self._client, listener.process):
            self._wire.faults.count(Fault.PARTITION)
            self._wire.later(CONNECTION_LOST_SECONDS, self._lose)
            return
        self._listener = listener
        self._choose_faults()
        listener.process.watch(self._server_died)
        listener.process.spawn(self._handle(listener), name=f"{self._request.method} {self._request.path}")

    def _choose_faults(self) -> None:
        faults = self._wire.faults
        if faults.fires(Fault.REPLY_LOST):
            self._reply = "lost"
        elif faults.fires(Fault.RESET_REPLY):
            self._reply = "reset"
        self._slow = faults.fires(Fault.SLOW_STREAM)

    async def _handle(self, listener: Listener) -> None:
        """Runs in the server's process."""
        server = _ServerSide(self, listener)
        if self._request.body and self._wire.faults.fires(Fault.RESET_REQUEST):
            server.cut_body()
            self._reply = "broken"
            self._wire.later(self._wire.latency(), lambda: self._break("connection reset", sent=True))
        try:
            await listener.app(scope_of(self._request, self._host, listener.state), server.receive, server.send)
        finally:
            listener.process.unwatch(self._server_died)
            server.finish()

    async def wait_for_client_to_leave(self) -> None:
        await self._client_gone.wait()

    @property
    def request(self) -> HttpRequest:
        return self._request

    def carry(self, item: Item) -> None:
        """Send one item of the reply to the client."""
        listener = self._listener
        if self._closed or listener is None or self._reply == "broken":
            return
        if self._wire.cut_between(listener.process, self._client):
            self._wire.faults.count(Fault.PARTITION)
            self._reply = "lost"
        if self._reply == "lost":
            self._reply = "broken"
            self._wire.later(CONNECTION_LOST_SECONDS, self._lose)
            return
        if self._reply == "reset" and isinstance(item, bytes):
            self._reply = "broken"
            item = TransportError("connection reset", sent=True)
        delay = self._wire.latency() * (50 if self._slow else 1)
        self._arrives = self._wire.later(delay, lambda: self._deliver(item), after=self._arrives)

    def _server_died(self, power: bool) -> None:  # noqa: FBT001 - the form of a watcher
        delay = CONNECTION_LOST_SECONDS if power else self._wire.latency()
        self._wire.later(delay, lambda: self._break("the server went away", sent=True))

    def _lose(self) -> None:
        self._break("the connection was lost", sent=True)

    def _break(self, reason: str, *, sent: bool) -> None:
        self._deliver(TransportError(reason, sent=sent))

    def _deliver(self, item: Item) -> None:
        if not self._closed:
            self.inbox.put_nowait(item)


class _ServerSide:
    """The `receive` and `send` of one ASGI call."""

    def __init__(self, exchange: Exchange, listener: Listener) -> None:
        self._exchange = exchange
        self._listener = listener
        self._body: list[Message] = [{"type": "http.request", "body": exchange.request.body, "more_body": False}]
        self._started = False
        self._complete = False

    def cut_body(self) -> None:
        """Let the connection break in the middle of the request."""
        half = self._exchange.request.body[: len(self._exchange.request.body) // 2]
        self._body = [{"type": "http.request", "body": half, "more_body": True}, {"type": "http.disconnect"}]

    async def receive(self) -> Message:
        self._listener.process.check()
        if self._body:
            return self._body.pop(0)
        if not self._complete:
            await self._exchange.wait_for_client_to_leave()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self._listener.process.check()
        if message["type"] == "http.response.start":
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in message["headers"]}
            headers.setdefault("date", formatdate(self._listener.process.effects.clock.now() // 1_000_000, usegmt=True))
            self._started = True
            self._exchange.carry(Head(message["status"], headers))
            return
        body = bytes(message.get("body", b""))
        if body:
            self._exchange.carry(body)
        if not message.get("more_body", False):
            self._complete = True
            self._exchange.carry(None)

    def finish(self) -> None:
        """An application that ends without a whole reply breaks the connection, as a web server does."""
        if self._complete or not self._listener.process.alive:
            return
        if not self._started:
            self._exchange.carry(Head(500, {"content-type": "text/plain"}))
            self._exchange.carry(None)
        else:
            self._exchange.carry(TransportError("connection reset", sent=True))
