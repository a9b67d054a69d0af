"""Many small requests, few transactions: what arrives while one is under way shares the next.

For functions that take a list and answer each item on its own merits (`attempts.finish_many`, `claims.claim_batch`,
`submissions.submit_each` …). A caller that comes alone waits for nothing; under load the cost of round trips and of
the commit is divided by all who share it. On PostgreSQL this is what group commit is on SQLite.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from sqlalchemy import Connection

from ostler.store.database import Database
from ostler.store.errors import DatabaseClosed

Item = TypeVar("Item")
Answer = TypeVar("Answer")

LARGEST: Final = 256


class Gathering(Generic[Item, Answer]):
    """One such function on one database. ``clock`` gives the time of each transaction, ``reading`` has it only read."""

    def __init__(
        self,
        database: Database,
        function: Callable[[Connection, Sequence[Item], int], Sequence[Answer]],
        clock: Callable[[], int],
        *,
        at_once: int = 2,
        largest: int = LARGEST,
        reading: bool = False,
    ) -> None:
        self._transaction = database.read if reading else database.run
        self._function = function
        self._clock = clock
        self._at_once = at_once
        self._largest = largest
        self._waiting: deque[tuple[Item, asyncio.Future[Answer]]] = deque()
        self._under_way: set[asyncio.Task[None]] = set()
        self._closed = False

    async def ask(self, item: Item) -> Answer:
        """Have the item handled, and return its answer once that is durable.

        If the transaction fails, everybody who shared it gets its error, as if each had run it alone.
        """
        if self._closed:
            raise DatabaseClosed("the program is shutting down")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        self._send()
        return await future

    async def close(self) -> None:
        """Take nothing more and wait for what is under way."""
        self._closed = True
        while self._under_way:
            await asyncio.wait(self._under_way)

    def _send(self) -> None:
        if self._waiting and len(self._under_way) < self._at_once:
            task = asyncio.create_task(self._handle(), name="ostler-gathering")
            self._under_way.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._send()

    async def _handle(self) -> None:
        """Begins a step after the request that caused it, so that those of the same moment share it."""
        shared: list[tuple[Item, asyncio.Future[Answer]]] = []
        while self._waiting and len(shared) < self._largest:
            item, future = self._waiting.popleft()
            if not future.done():
                shared.append((item, future))
        if not shared:
            return
        try:
            answers = await self._transaction(self._function, [item for item, _ in shared], self._clock())
        except BaseException as error:
            for _, future in shared:
                if not future.done():
                    future.set_exception(_copied(error))
                    future.exception()  # whoever asked may be gone; that is no error of ours
            if not isinstance(error, Exception):
                raise
            return
        for (_, future), answer in zip(shared, answers, strict=True):
            if not future.done():
                future.set_result(answer)


def _copied(error: BaseException) -> Exception:
    """Each waiter raises an exception of its own: a shared one would collect all their tracebacks."""
    if not isinstance(error, Exception):
        return DatabaseClosed("the program is shutting down")
    try:
        copy = type(error)(*error.args)
    except TypeError:
        return error
    copy.__cause__ = error
    return copy
