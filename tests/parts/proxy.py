"""A TCP proxy that does to connections what networks do: for tests of what we do when it happens.

    with TcpProxy(cluster.port) as network:
        url = url.replace(str(cluster.port), str(network.port))
        network.cut()                       # resets every connection, refuses new ones
        network.mend()                      # back to normal, for new and surviving connections
        network.blackhole(TO_CLIENT)        # answers vanish, requests arrive: a one-way partition
        network.close_after(100, TO_SERVER) # the next 100 bytes of each connection arrive, then it is reset

It runs a loop in a thread of its own, so that it works for blocking and async tests alike and goes on while theirs is
busy. Every method may be called from any thread and has taken effect when it returns.
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Literal, Self, TypeVar

from tests.parts.ports import LOOPBACK, free_port

Direction = Literal["to_server", "to_client"]
TO_SERVER: Direction = "to_server"
TO_CLIENT: Direction = "to_client"
BOTH: tuple[Direction, ...] = (TO_SERVER, TO_CLIENT)

_CHUNK_BYTES = 64 * 1024
_IN_FLIGHT_CHUNKS = 16
_PATIENCE_SECONDS = 10.0
_RESET = struct.pack("ii", 1, 0)

Result = TypeVar("Result")


class _Weather:
    """What the network does to one direction at the moment; belongs to the proxy's loop."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.delay_seconds = 0.0
        self.bytes_per_second = 0.0
        self.close_after: int | None = None
        self.passed = 0

    def clear(self) -> None:
        self.open.set()
        self.delay_seconds = 0.0
        self.bytes_per_second = 0.0
        self.close_after = None


class _Side:
    """One end of a connection: what to read from and write to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def reset(self) -> None:
        """End the connection the hard way: the peer sees ECONNRESET, not the end of the stream."""
        connection = self.writer.get_extra_info("socket")
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.writer.transport.abort()


class _Connection:
    """A client's connection and ours to the server, with a pump for each direction."""

    def __init__(self, client: _Side, server: _Side, weather: dict[Direction, _Weather]) -> None:
        self.client = client
        self.server = server
        self._weather = weather

    async def run(self) -> None:
        """Pass bytes on until both directions have ended or one of them breaks."""
        try:
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(self._pump(self.client, self.server, self._weather[TO_SERVER]))
                pumps.create_task(self._pump(self.server, self.client, self._weather[TO_CLIENT]))
        except* OSError:
            self.reset()
        finally:
            for side in (self.client, self.server):
                side.writer.close()

    def reset(self) -> None:
        self.client.reset()
        self.server.reset()

    async def _pump(self, source: _Side, sink: _Side, weather: _Weather) -> None:
        in_flight: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_IN_FLIGHT_CHUNKS)
        async with asyncio.TaskGroup() as ends:
            ends.create_task(self._send(source, in_flight, weather))
            ends.create_task(self._deliver(sink, in_flight, weather))

    async def _send(self, source: _Side, in_flight: asyncio.Queue[tuple[float, bytes]], weather: _Weather) -> None:
        loop = asyncio.get_running_loop()
        chunk = b"more"
        while chunk:
            await weather.open.wait()
            chunk = await source.reader.read(_CHUNK_BYTES)
            await weather.open.wait()
            if weather.bytes_per_second:
                await asyncio.sleep(len(chunk) / weather.bytes_per_second)
            await in_flight.put((loop.time() + weather.delay_seconds, chunk))

    async def _deliver(self, sink: _Side, in_flight: asyncio.Queue[tuple[float, bytes]], weather: _Weather) -> None:
        loop = asyncio.get_running_loop()
        passed = 0
        while True:
            due, chunk = await in_flight.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            await weather.open.wait()
            if weather.close_after is not None and passed + len(chunk) >= weather.close_after:
                sink.writer.write(chunk[: max(0, weather.close_after - passed)])
                with suppress(OSError):
                    await sink.writer.drain()
                raise ConnectionResetError("the proxy was told to close after so many bytes")
            if not chunk:
                if sink.writer.can_write_eof() and not sink.writer.transport.is_closing():
                    sink.writer.write_eof()
                return
            sink.writer.write(chunk)
            await sink.writer.drain()
            passed += len(chunk)
            weather.passed += len(chunk)


class TcpProxy:
    """A loopback port that leads to another one, over a network of the test's choosing."""

    def __init__(self, upstream_port: int, upstream_host: str = LOOPBACK) -> None:
        self.port = free_port()
        self._upstream = (upstream_host, upstream_port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tcp-proxy", daemon=True)
        self._weather: dict[Direction, _Weather] = {direction: _Weather() for direction in BOTH}
        self._connections: dict[_Connection, asyncio.Task[None]] = {}
        self._dialling: set[asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]] = set()
        self._listener: asyncio.Server | None = None
        self._changed = asyncio.Condition()

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._listen())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE_SECONDS)
        self._loop.close()

    @property
    def connections(self) -> int:
        """How many connections are open through the proxy."""
        return len(self._connections)

    def passed(self, direction: Direction) -> int:
        """How many bytes have been delivered in a direction, over all connections."""
        return self._weather[direction].passed

    def wait_connections(self, count: int) -> None:
        """Return once exactly so many connections are open."""
        self._do(self._wait(lambda: len(self._connections) == count))

    def reset_connections(self) -> None:
        """Reset every open connection; new ones are welcome."""
        self._do(self._reset_all())

    def cut(self) -> None:
        """Reset every connection and refuse new ones, as if the server's process were gone."""
        self._do(self._cut())

    def blackhole(self, *directions: Direction) -> None:
        """Keep connections open and deliver nothing, in both directions or in one: as a firewall or a pulled cable."""
        self._set(directions, lambda weather: weather.open.clear())

    def delay(self, seconds: float, *directions: Direction) -> None:
        """Deliver everything so much later, in order."""

        def change(weather: _Weather) -> None:
            weather.delay_seconds = seconds

        self._set(directions, change)

    def throttle(self, bytes_per_second: float, *directions: Direction) -> None:
        """Deliver no faster than this."""

        def change(weather: _Weather) -> None:
            weather.bytes_per_second = bytes_per_second

        self._set(directions, change)

    def close_after(self, count: int, *directions: Direction) -> None:
        """Deliver the first bytes of each connection, counted from its start, and then reset it."""

        def change(weather: _Weather) -> None:
            weather.close_after = count

        self._set(directions, change)

    def half_close(self, direction: Direction) -> None:
        """End every connection's stream in one direction and leave the other open."""
        self._do(self._half_close(direction))

    def mend(self) -> None:
        """Undo everything: listen again, deliver at once and completely."""
        self._do(self._mend())

    def _set(self, directions: tuple[Direction, ...], change: Callable[[_Weather], None]) -> None:
        async def apply() -> None:
            for direction in directions or BOTH:
                change(self._weather[direction])

        self._do(apply())

    def _do(self, work: Coroutine[None, None, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE_SECONDS)

    async def _listen(self) -> None:
        self._listener = await asyncio.start_server(self._accept, LOOPBACK, self.port, limit=_CHUNK_BYTES)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _Side(reader, writer)
        dialling = asyncio.ensure_future(asyncio.open_connection(*self._upstream, limit=_CHUNK_BYTES))
        self._dialling.add(dialling)
        try:
            server = _Side(*await dialling)
        except (OSError, asyncio.CancelledError):
            client.reset()
            return
        finally:
            self._dialling.discard(dialling)
        connection = _Connection(client, server, self._weather)
        if self._listener is None:  # Cut while we were connecting.
            connection.reset()
            return
        task = asyncio.create_task(connection.run())
        self._connections[connection] = task
        await self._notify()
        await asyncio.wait([task])
        del self._connections[connection]
        await self._notify()
        if not task.cancelled():
            task.result()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _wait(self, condition: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(condition)

    async def _half_close(self, direction: Direction) -> None:
        for connection in self._connections:
            (connection.server if direction == TO_SERVER else connection.client).writer.write_eof()

    async def _reset_all(self) -> None:
        condemned = dict(self._connections)
        for connection, task in condemned.items():
            connection.reset()
            task.cancel()
        await self._wait(lambda: condemned.keys().isdisjoint(self._connections))

    async def _cut(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        await self._reset_all()

    async def _mend(self) -> None:
        for weather in self._weather.values():
            weather.clear()
        if self._listener is None:
            await self._listen()

    async def _close(self) -> None:
        await self._cut()
        for dialling in self._dialling:
            dialling.cancel()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)
        await asyncio.sleep(0)  # Transports that were aborted close their sockets in the loop's next round.
