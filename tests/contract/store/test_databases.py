"""The seam itself: transactions, hints and failures, on each database alike."""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.protocol.v1.fleet_messages import CreatePoolRequest
from ostler.store import migrate, pools, submissions
from ostler.store.database import Database, hint
from ostler.store.errors import (
    DatabaseAddressMalformed,
    DatabaseClosed,
    DatabaseNotWritable,
    DatabaseUnavailable,
    DatabaseUncertain,
    MigrationChanged,
    SchemaTooNew,
)
from ostler.store.inline import InlineDatabase
from ostler.store.open import open_database
from ostler.store.sqlite import SqliteDatabase
from tests.contract.store.conftest import Opener
from tests.contract.store.world import START, World, kept

Play = Callable[[Callable[[World], Coroutine[None, None, None]]], None]


def create(connection: Connection, name: str) -> None:
    kept(pools.create(connection, f"pool_{name}", CreatePoolRequest(name), START))


def create_and_fail(connection: Connection, name: str) -> None:
    create(connection, name)
    raise LookupError(name)


async def names(database: Database) -> list[str]:
    return [pool.name for pool in await database.read(pools.list_all)]


class Ear:
    """Listens to a database; the test's time limit ends a wait in vain."""

    def __init__(self, database: Database) -> None:
        self.heard: list[str] = []
        self._something = asyncio.Event()
        database.listen(self._hear)

    def _hear(self, topic: str) -> None:
        self.heard.append(topic)
        self._something.set()

    async def until(self, topic: str) -> None:
        while topic not in self.heard:
            await self._something.wait()
            self._something.clear()


def test_a_transaction_that_fails_writes_nothing_and_harms_no_other(in_world: Play) -> None:
    async def scene(world: World) -> None:
        calls = [world.run(create_and_fail if number % 3 == 0 else create, f"pool-{number}") for number in range(30)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        failed = {number for number, outcome in enumerate(outcomes) if isinstance(outcome, LookupError)}
        assert failed == set(range(0, 30, 3))
        expected = {f"pool-{number}" for number in range(30)} - {f"pool-{number}" for number in failed}
        assert set(await names(world.database)) == expected | {"hosted"}

    in_world(scene)


def test_listeners_hear_of_commits_only(in_world: Play) -> None:
    async def scene(world: World) -> None:
        ear = Ear(world.database)

        def speak(connection: Connection, topic: str, *, fail: bool) -> None:
            hint(connection, topic)
            hint(connection, topic)
            if fail:
                raise LookupError(topic)

        with pytest.raises(LookupError):
            await world.run(speak, "undone", fail=True)
        await world.run(speak, "done", fail=False)
        await ear.until("done")
        world.database.hint("outside")
        await ear.until("outside")
        assert [topic for topic in ear.heard if topic != "*"] == ["done", "outside"]

    in_world(scene)


def test_a_closed_database_says_so(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.database.close()
        for call in (world.run, world.read):
            with pytest.raises(DatabaseClosed):
                await call(pools.list_all)

    in_world(scene)


def test_what_was_acknowledged_is_there_after_opening_again(opener: Opener) -> None:
    async def whole() -> None:
        first = await opener()
        await first.run(create, "kept")
        await first.check()
        await first.close()
        second = await opener()
        if not isinstance(second, InlineDatabase):
            assert "kept" in await names(second)
        await second.close()

    asyncio.run(whole())


def test_a_cancelled_caller_leaves_the_others_alone(in_world: Play) -> None:
    async def scene(world: World) -> None:
        tasks = [asyncio.ensure_future(world.run(create, f"pool-{number}")) for number in range(5)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert [each for number, each in enumerate(outcomes) if number != 2] == [None] * 4
        assert {f"pool-{number}" for number in (0, 1, 3, 4)} <= set(await names(world.database))

    in_world(scene)


def test_a_simulated_fault_is_before_or_after_the_commit() -> None:
    async def whole() -> None:
        database = InlineDatabase()

        def broken() -> None:
            raise DatabaseUncertain("the connection broke")

        database.faults.before_commit = broken
        with pytest.raises(DatabaseUncertain):
            await database.run(create, "before")
        database.faults.before_commit = lambda: None
        database.faults.after_commit = broken
        with pytest.raises(DatabaseUncertain):
            await database.run(create, "after")
        database.faults.after_commit = lambda: None
        assert await names(database) == ["hosted", "after"]

    asyncio.run(whole())


def test_simulated_replicas_share_rows_and_hints() -> None:
    async def whole() -> None:
        database = InlineDatabase()
        replica = database.replica()
        ear = Ear(replica)
        await database.run(create, "shared")
        await ear.until("pools")
        assert "shared" in await names(replica)
        await replica.close()
        await database.run(create, "later")
        await asyncio.sleep(0)
        assert ear.heard == ["pools"]
        await database.close()

    asyncio.run(whole())


def test_if_the_group_cannot_commit_all_fail_and_the_next_group_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def whole() -> None:
        database = SqliteDatabase(str(tmp_path / "ostler.db"))
        commit = database._commit
        failing = True

        def sometimes() -> None:
            if failing:
                driver = database._connection.connection.dbapi_connection
                assert isinstance(driver, sqlite3.Connection)
                database._connection.exec_driver_sql("INSERT INTO no_such_table VALUES (1)")
            commit()

        monkeypatch.setattr(database, "_commit", sometimes)
        calls = [database.run(create, f"pool-{number}") for number in range(10)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {DatabaseUnavailable}
        failing = False
        assert await names(database) == ["hosted"]
        await database.run(create, "pool-1")
        await database.close()

    asyncio.run(whole())


def test_many_calls_share_a_commit(tmp_path: Path) -> None:
    async def whole() -> None:
        database = SqliteDatabase(str(tmp_path / "ostler.db"))
        commits: list[int] = []
        commit_together = database._commit_together
        database._commit_together = lambda calls: (commits.append(len(calls)), commit_together(calls))[1]  # type: ignore[method-assign]
        world = World(database)
        runs = [database.run(submissions.submit, world.prepared(), START) for _ in range(200)]
        assert not any(isinstance(each, Refused) for each in await asyncio.gather(*runs))
        assert sum(commits) == 200
        assert len(commits) < 20
        await database.close()

    asyncio.run(whole())


def test_addresses_that_cannot_be_opened_say_what_to_do(tmp_path: Path) -> None:
    async def opened(url: str) -> None:
        await open_database(url)

    for url in ("mysql://x", "sqlite://", "ostler.db", "postgresql://"):
        with pytest.raises(DatabaseAddressMalformed, match="write sqlite:///PATH"):
            asyncio.run(opened(url))
    with pytest.raises(DatabaseNotWritable, match="does not exist: create it"):
        asyncio.run(opened(f"sqlite:///{tmp_path}/missing/ostler.db"))
    with pytest.raises(DatabaseNotWritable, match="check who owns it"):
        asyncio.run(opened(f"sqlite:///{tmp_path}"))
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"not a database, " * 1000)
    with pytest.raises(DatabaseNotWritable, match="not a database"):
        asyncio.run(opened(f"sqlite:///{garbage}"))


LATER = migrate.Migration(9999, "9999_later.sql", "c" * 64, "CREATE TABLE later (id TEXT);", "DROP TABLE later;")


def test_a_newer_schema_is_used_until_its_second_phase(opener: Opener, in_world: Play) -> None:
    async def scene(world: World) -> None:
        newer = [*migrate.migrations(), LATER]
        await world.run(migrate.migrate, post=False, known=newer)
        await world.run(migrate.migrate, post=False)
        run = kept(await world.run(submissions.submit, world.prepared(), world.now))
        assert run.run_id
        await world.run(migrate.migrate, post=True, known=newer)
        await world.run(migrate.migrate, post=True, known=newer)
        with pytest.raises(SchemaTooNew, match="9999_later"):
            await world.run(migrate.migrate, post=False)

    in_world(scene)


def test_a_changed_migration_is_noticed(in_world: Play) -> None:
    async def scene(world: World) -> None:
        changed = [each._replace(checksum="0" * 64) for each in migrate.migrations()]
        with pytest.raises(MigrationChanged):
            await world.run(migrate.migrate, post=True, known=changed)

    in_world(scene)
