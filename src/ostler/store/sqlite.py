"""The store on SQLite: one thread writes, with group commit; a few threads read beside it.

A commit costs a disk flush whatever it holds. So while one flush is under way calls gather, and the next transaction
takes them all: each in a savepoint of its own, so that one that fails takes nothing with it, then one commit, and only
then does anybody learn of success. If the commit fails, all of them fail.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ostler.store.connections import execute, sqlite_engine
from ostler.store.database import begin_hints
from ostler.store.errors import DatabaseClosed, DatabaseUnavailable, DatabaseUncertain
from ostler.store.migrate import migrate
from ostler.store.sql import Sql

T = TypeVar("T")
P = ParamSpec("P")

_MOST_CALLS: Final = 512
_READERS: Final = 3
_PROBE = Sql("UPDATE organizations SET name = name WHERE id = 'org_default'")


class _Call:
    """One queued transaction and what became of it."""

    __slots__ = ("error", "function", "future", "hints", "loop", "result")

    def __init__(
        self, function: Callable[[Connection], object], future: asyncio.Future[Any], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.function: Final = function
        self.future: Final = future
        self.loop: Final = loop
        self.result: object = None
        self.error: BaseException | None = None
        self.hints: list[str] = []


class SqliteDatabase:
    """See `database.Database`."""

    def __init__(self, path: str) -> None:
        self._engine = sqlite_engine(path)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="ostler-read", initializer=self._open_reader)
        self._read_engine = sqlite_engine(path, read_only=True)
        self._here = threading.local()
        self._open_readers: list[Connection] = []
        self._callbacks: list[tuple[asyncio.AbstractEventLoop, Callable[[str], None]]] = []
        self._queue: SimpleQueue[_Call | None] = SimpleQueue()
        self._closed = False
        self._connection = self._engine.connect()
        execute(self._connection, "BEGIN IMMEDIATE")
        migrate(self._connection, post=True)
        execute(self._connection, "COMMIT")
        self._thread = threading.Thread(target=self._write_for_ever, name="ostler-write", daemon=True)
        self._thread.start()

    async def run(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._closed:
            raise DatabaseClosed("the database was closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.put(_Call(lambda connection: function(connection, *args, **kwargs), future, loop))
        return await future

    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._closed:
            raise DatabaseClosed("the database was closed")

        def snapshot() -> T:
            connection: Connection = self._here.connection
            execute(connection, "BEGIN")
            try:
                return function(connection, *args, **kwargs)
            finally:
                execute(connection, "ROLLBACK")

        return await asyncio.get_running_loop().run_in_executor(self._readers, snapshot)

    def hint(self, topic: str) -> None:
        for loop, callback in self._callbacks:
            loop.call_soon_threadsafe(callback, topic)

    def listen(self, callback: Callable[[str], None]) -> None:
        self._callbacks.append((asyncio.get_running_loop(), callback))

    async def check(self) -> None:
        await self.run(_PROBE.run)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._queue.put(None)
        await asyncio.get_running_loop().run_in_executor(self._readers, self._thread.join)
        self._readers.shutdown()
        for connection in [*self._open_readers, self._connection]:
            connection.close()

    def _open_reader(self) -> None:
        self._here.connection = self._read_engine.connect()
        self._open_readers.append(self._here.connection)

    # The writing thread

    def _write_for_ever(self) -> None:
        while (first := self._queue.get()) is not None:
            calls = [first]
            stopping = False
            while len(calls) < _MOST_CALLS and not self._queue.empty():
                following = self._queue.get()
                if following is None:
                    stopping = True
                    break
                calls.append(following)
            self._commit_together(calls)
            if stopping:
                return

    def _commit_together(self, calls: list[_Call]) -> None:
        connection = self._connection
        try:
            execute(connection, "BEGIN IMMEDIATE")
        except DBAPIError as error:
            self._fail(calls, DatabaseUnavailable(f"SQLite takes no transaction: {error.orig}"))
            return
        try:
            for call in calls:
                self._run_in_savepoint(call)
        except BaseException as error:  # noqa: BLE001 - whatever it is, nobody may be left waiting
            self._undo()
            self._fail(calls, DatabaseUnavailable(f"SQLite lost the transaction: {error}"))
            return
        try:
            self._commit()
        except DBAPIError as error:
            undone = self._undo()
            failure = DatabaseUnavailable if undone else DatabaseUncertain
            self._fail(calls, failure(f"SQLite could not commit: {error.orig}"))
            return
        self._announce(calls)

    def _commit(self) -> None:
        execute(self._connection, "COMMIT")

    def _run_in_savepoint(self, call: _Call) -> None:
        connection = self._connection
        call.hints = begin_hints(connection)
        execute(connection, "SAVEPOINT call")
        try:
            call.result = call.function(connection)
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller
            call.error = error
            execute(connection, "ROLLBACK TO call")
        execute(connection, "RELEASE call")

    def _undo(self) -> bool:
        """Roll back; return whether the transaction was surely still open."""
        driver = self._connection.connection.dbapi_connection
        if not isinstance(driver, sqlite3.Connection) or not driver.in_transaction:
            return False
        execute(self._connection, "ROLLBACK")
        return True

    def _fail(self, calls: list[_Call], error: Exception) -> None:
        for call in calls:
            call.error = call.error or error
            call.hints = []
        self._announce(calls)

    def _announce(self, calls: list[_Call]) -> None:
        """Tell everybody of one loop with a single wake-up."""
        by_loop: dict[asyncio.AbstractEventLoop, list[_Call]] = {}
        for call in calls:
            by_loop.setdefault(call.loop, []).append(call)
        for loop, its_calls in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, its_calls)
        for topic in dict.fromkeys(topic for call in calls if call.error is None for topic in call.hints):
            self.hint(topic)


def _resolve(calls: list[_Call]) -> None:
    for call in calls:
        if call.future.done():
            continue
        if call.error is not None:
            call.future.set_exception(call.error)
        else:
            call.future.set_result(call.result)
