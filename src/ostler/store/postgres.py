"""The store on PostgreSQL: a small pool of connections, retries that are always safe, and hints between replicas.

A transaction is repeated only if it surely did not commit: a serialization failure, a deadlock, a connection that
broke before COMMIT was sent. If it broke during COMMIT, the caller gets `DatabaseUncertain`, and because every
mutation has a key or a fence it may simply ask again. Several hosts may be named; the one that takes writes is used,
which is how a failover is followed.

Hints travel by NOTIFY after the commit, on a connection of their own: inside the transaction NOTIFY would make all
commits queue up behind one lock.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar, cast

import asyncpg
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, InterfaceError, TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import create_async_engine

from ostler.store.database import begin_hints
from ostler.store.errors import DatabaseClosed, DatabaseUnavailable, DatabaseUncertain
from ostler.store.migrate import migrate
from ostler.store.sql import Sql

T = TypeVar("T")
P = ParamSpec("P")

LARGEST_POOL: Final = 16
"""More connections make PostgreSQL slower, not faster."""

CHANNEL: Final = "ostler"
_PAYLOAD_LIMIT: Final = 7_000
_CONNECT_SECONDS: Final = 5.0
_CONFLICT_TRIES: Final = 10
_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.5
_CONFLICTS: Final = frozenset({"40001", "40P01", "23505"})
# The last is how asyncpg says that the connection broke in the middle of something else.
_BROKEN: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError, asyncpg.InternalClientError)
_AWAY: Final = frozenset({"25006", "57P01", "57P02", "57P03", "53300"})
_SETTINGS: Final = {
    "application_name": "ostler",
    "jit": "off",
    "random_page_cost": "1.1",
    # A table that was never analyzed, right after a bulk of submissions, looks small: the planner would read it whole
    # for each batch. Nothing on a hot path wants that, and where no index helps it still does.
    "enable_seqscan": "off",
    # Lists come as arrays, and planning anew for the values in each costs more than it can gain.
    "plan_cache_mode": "force_generic_plan",
}
_PROBE = Sql("UPDATE organizations SET name = name WHERE id = 'org_default'")

Notified = Callable[[object, int, str, object], None]


class _Session(Protocol):
    """The part of an asyncpg connection that is used here; the library does not state its types."""

    async def add_listener(self, channel: str, callback: Notified) -> None: ...
    def add_termination_listener(self, callback: Callable[[object], None]) -> None: ...
    def get_server_pid(self) -> int: ...
    async def execute(self, query: str, *args: object) -> object: ...
    async def close(self) -> None: ...


class _Again(Exception):
    """The transaction surely did not commit and may be run again."""

    def __init__(self, cause: BaseException, *, away: bool) -> None:
        super().__init__(str(cause))
        self.away = away


class PostgresDatabase:
    """See `database.Database`. `open` makes one."""

    def __init__(self, address: str, *, pool_size: int = LARGEST_POOL, patience_seconds: float = 15.0) -> None:
        self._address = address
        self._patience = patience_seconds
        self._engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=self._connect,
            pool_size=min(pool_size, LARGEST_POOL),
            max_overflow=0,
            pool_timeout=patience_seconds,
            pool_use_lifo=True,
        )
        self._reading = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._callbacks: list[Callable[[str], None]] = []
        self._outgoing: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._closed = False
        self._notifier: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, address: str, *, post: bool = False, pool_size: int = LARGEST_POOL) -> "PostgresDatabase":
        """Connect, migrate and start to listen."""
        database = cls(address, pool_size=pool_size)
        try:
            await database.run(migrate, post=post)
        except BaseException:
            await database.close()
            raise
        database._notifier = asyncio.create_task(database._exchange_hints(), name="ostler-hints")
        return database

    async def run(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        def whole(connection: Connection) -> T:
            return function(connection, *args, **kwargs)

        return await self._repeat(self._write_once, whole)

    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        def whole(connection: Connection) -> T:
            return function(connection, *args, **kwargs)

        return await self._repeat(self._read_once, whole)

    def hint(self, topic: str) -> None:
        self._tell(topic)
        self._outgoing[topic] = None
        self._wake.set()

    def listen(self, callback: Callable[[str], None]) -> None:
        self._callbacks.append(callback)

    async def check(self) -> None:
        await self.run(_PROBE.run)

    async def close(self) -> None:
        self._closed = True
        if self._notifier is not None:
            self._notifier.cancel()
            with suppress(asyncio.CancelledError):
                await self._notifier
            self._notifier = None
        await self._engine.dispose()

    # Transactions

    async def _repeat(
        self, once: Callable[[Callable[[Connection], T]], Awaitable[T]], whole: Callable[[Connection], T]
    ) -> T:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience
        pause, conflicts = _FIRST_PAUSE, 0
        while True:
            if self._closed:
                raise DatabaseClosed("the database was closed")
            try:
                return await once(whole)
            except _Again as again:
                conflicts += not again.away
                if loop.time() + pause > deadline or conflicts > _CONFLICT_TRIES:
                    if isinstance(again.__cause__, DBAPIError) and not again.away:
                        raise again.__cause__ from None
                    raise DatabaseUnavailable(
                        f"PostgreSQL does not answer: {again}; check that it runs and takes writes at the address"
                    ) from again.__cause__
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _write_once(self, whole: Callable[[Connection], T]) -> T:
        committing = False

        def transaction(connection: Connection) -> tuple[T, list[str]]:
            nonlocal committing
            hints = begin_hints(connection)
            result = whole(connection)
            committing = True
            connection.commit()
            return result, hints

        try:
            async with self._engine.connect() as connection:
                result, hints = await connection.run_sync(transaction)
                committing = False
        except Exception as error:
            raise _judged(error, committing=committing) from error
        for topic in dict.fromkeys(hints):
            self.hint(topic)
        return result

    async def _read_once(self, whole: Callable[[Connection], T]) -> T:
        try:
            async with self._reading.connect() as connection:
                return await connection.run_sync(whole)
        except Exception as error:
            raise _judged(error, committing=False) from error

    async def _connect(self) -> Any:  # noqa: ANN401 - asyncpg states no types
        connect = cast("Callable[..., Awaitable[_Session]]", asyncpg.connect)  # pyright: ignore[reportUnknownMemberType]
        return await connect(
            self._address,
            target_session_attrs="read-write",
            timeout=_CONNECT_SECONDS,
            command_timeout=60,
            server_settings=_SETTINGS,
        )

    # Hints

    def _tell(self, topic: str) -> None:
        loop = asyncio.get_running_loop()
        for callback in self._callbacks:
            loop.call_soon(callback, topic)

    async def _exchange_hints(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                session: _Session = await self._connect()
            except _BROKEN:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                continue
            pause = _FIRST_PAUSE
            with suppress(*_BROKEN):
                await self._exchange_on(session)
            with suppress(*_BROKEN):
                await session.close()

    async def _exchange_on(self, session: _Session) -> None:
        """Pass hints on until the connection breaks."""
        own = session.get_server_pid()
        broken = False

        def notified(_session: object, process: int, _channel: str, payload: object) -> None:
            if process != own:
                for topic in str(payload).split("\n"):
                    self._tell(topic)

        def terminated(_session: object) -> None:
            nonlocal broken
            broken = True
            self._wake.set()

        session.add_termination_listener(terminated)
        try:
            await session.add_listener(CHANNEL, notified)
            self._tell("*")
            while not broken:
                await self._wake.wait()
                self._wake.clear()
                while self._outgoing and not broken:
                    await session.execute("SELECT pg_notify($1, $2)", CHANNEL, self._next_payload())
        except asyncio.CancelledError:
            await session.close()
            raise

    def _next_payload(self) -> str:
        topics: list[str] = []
        length = 0
        while self._outgoing and length < _PAYLOAD_LIMIT:
            topic = next(iter(self._outgoing))
            del self._outgoing[topic]
            topics.append(topic)
            length += len(topic.encode()) + 1
        return "\n".join(topics)


def _judged(error: Exception, *, committing: bool) -> Exception:
    """Return what an error means: run it again, uncertain, or the function's own."""
    if isinstance(error, PoolTimeout):
        return DatabaseUnavailable("all connections to PostgreSQL are busy")
    state = _sqlstate(error)
    if state in _CONFLICTS:
        return _Again(error, away=False)
    lost = (
        (isinstance(error, DBAPIError) and (error.connection_invalidated or isinstance(error, InterfaceError)))
        or isinstance(error, OSError | asyncpg.InterfaceError | asyncpg.PostgresConnectionError)
        or state in _AWAY
        or isinstance(error, asyncpg.CannotConnectNowError | asyncpg.TooManyConnectionsError)
        or (state or "").startswith("08")
    )
    if not lost:
        return error
    if committing:
        return DatabaseUncertain("the connection to PostgreSQL broke during the commit; ask again with the same key")
    return _Again(error, away=True)


def _sqlstate(error: Exception) -> str | None:
    original = error.orig if isinstance(error, DBAPIError) else error
    state = getattr(original, "sqlstate", None)
    return state if isinstance(state, str) else None
