"""The store for simulations: every transaction runs at once on the calling loop, on a real SQLite.

The statements are the real ones; only threads are gone, so a seed replays exactly. Faults are injected around the
commit: before it (nothing was written) and after it (everything was written, but the caller does not learn it).
"""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar, cast

from sqlalchemy import Connection

from ostler.store.connections import MEMORY, sqlite_engine
from ostler.store.database import begin_hints
from ostler.store.errors import DatabaseClosed
from ostler.store.migrate import migrate

T = TypeVar("T")
P = ParamSpec("P")


class Faults:
    """What to do around each commit; a hook that raises makes the call fail. `DatabaseUncertain` fits after it."""

    def __init__(self) -> None:
        self.before_commit: Callable[[], None] = _nothing
        self.after_commit: Callable[[], None] = _nothing


class InlineDatabase:
    """See `database.Database`. Replicas share the rows and hear each other's hints."""

    def __init__(self, path: str = MEMORY, *, faults: Faults | None = None) -> None:
        self.faults = faults or Faults()
        self._connection = sqlite_engine(path).connect()
        self._replicas: list[InlineDatabase] = [self]
        self.callbacks: list[Callable[[str], None]] = []
        self._driver = cast("sqlite3.Connection", self._connection.connection.dbapi_connection)
        self._driver.execute("BEGIN IMMEDIATE")
        migrate(self._connection, post=True)
        self._driver.execute("COMMIT")

    def replica(self, *, faults: Faults | None = None) -> "InlineDatabase":
        """Return another server's view of the same database."""
        other = object.__new__(InlineDatabase)
        other.faults = faults or Faults()
        other._connection = self._connection
        other._driver = self._driver
        other.callbacks = []
        other._replicas = self._replicas
        other._replicas.append(other)
        return other

    async def run(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self.run_now(function, *args, **kwargs)

    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self.read_now(function, *args, **kwargs)

    def read_now(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Read without a loop, as an observer does after each commit."""
        self._require_open()
        return function(self._connection, *args, **kwargs)

    def run_now(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a transaction without a loop, for tests and benches of the functions themselves."""
        self._require_open()
        connection = self._connection
        hints = begin_hints(connection)
        self._driver.execute("BEGIN IMMEDIATE")
        try:
            result = function(connection, *args, **kwargs)
            self.faults.before_commit()
        except BaseException:
            self._driver.execute("ROLLBACK")
            raise
        self._driver.execute("COMMIT")
        for topic in dict.fromkeys(hints):
            self.hint(topic)
        self.faults.after_commit()
        return result

    def hint(self, topic: str) -> None:
        listening = [callback for replica in self._replicas for callback in replica.callbacks]
        if listening:
            loop = asyncio.get_running_loop()
            for callback in listening:
                loop.call_soon(callback, topic)

    def listen(self, callback: Callable[[str], None]) -> None:
        self.callbacks.append(callback)

    async def check(self) -> None:
        self._require_open()

    async def close(self) -> None:
        self.close_now()

    def close_now(self) -> None:
        """Take part no longer; the last one to leave closes the database."""
        if self in self._replicas:
            self._replicas.remove(self)
        self.callbacks.clear()
        if not self._replicas:
            self._connection.close()

    def _require_open(self) -> None:
        if self not in self._replicas:
            raise DatabaseClosed("the database was closed")


def _nothing() -> None:
    pass
