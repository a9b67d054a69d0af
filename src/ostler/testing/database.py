"""The real store in a simulated world: a real SQLite, reached over a wire that takes time and breaks.

The database itself never dies; that is its vendor's promise, not ours. What a server sees of it does go wrong: it is
slow, it refuses, it commits and the answer is lost, and the server is killed on either side of a commit.
"""

import asyncio
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from ostler.store.errors import DatabaseUnavailable, DatabaseUncertain
from ostler.store.inline import InlineDatabase
from ostler.testing.faults import Fault, Faults
from ostler.testing.node import Process

T = TypeVar("T")
P = ParamSpec("P")

FASTEST_SECONDS = 0.000_1
SLOWEST_SECONDS = 0.002
SLOW_SECONDS = 5.0


class SimDatabase:
    """See `ostler.store.database.Database`; one for each server process."""

    def __init__(self, process: Process, shared: InlineDatabase, faults: Faults, committed: Callable[[], None]) -> None:
        self._process = process
        self._inline = shared.replica()
        self._inline.faults.before_commit = self._before_commit
        self._inline.faults.after_commit = self._after_commit
        self._faults = faults
        self._committed = committed
        process.watch(lambda _: self._inline.close_now())

    async def run(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        await self._travel()
        return self._inline.run_now(function, *args, **kwargs)

    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        await self._travel()
        self._refuse()
        return await self._inline.read(function, *args, **kwargs)

    def hint(self, topic: str) -> None:
        self._process.check()
        self._inline.hint(topic)

    def listen(self, callback: Callable[[str], None]) -> None:
        """Hear in one's own process, whoever sends the hint."""
        process = self._process

        def hear(topic: str) -> None:
            if process.alive:
                process.node.loop.call_soon(callback, topic, context=process.context.copy())

        self._inline.listen(hear)

    async def check(self) -> None:
        await self._travel()

    async def close(self) -> None:
        self._inline.close_now()

    async def _travel(self) -> None:
        self._process.check()
        slowest = SLOW_SECONDS if self._faults.fires(Fault.DATABASE_SLOW) else SLOWEST_SECONDS
        await asyncio.sleep(self._process.effects.random.uniform(FASTEST_SECONDS, slowest))
        self._process.check()

    def _refuse(self) -> None:
        if self._faults.fires(Fault.DATABASE_REFUSED):
            raise DatabaseUnavailable("the simulated database does not answer")

    def _before_commit(self) -> None:
        self._refuse()
        self._kill()

    def _after_commit(self) -> None:
        self._committed()
        self._kill()
        if self._faults.fires(Fault.DATABASE_UNCERTAIN):
            raise DatabaseUncertain("the connection to the simulated database broke during the commit")

    def _kill(self) -> None:
        if self._faults.fires(Fault.KILL_AT_COMMIT):
            self._process.kill()
        self._process.check()
