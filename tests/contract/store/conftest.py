"""The databases of the conformance suite: every test here runs on each of them."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from ostler.store.database import Database
from ostler.store.inline import InlineDatabase
from ostler.store.open import open_database
from tests.contract.store.world import World
from tests.parts.postgres import PostgresCluster

Opener = Callable[[], Coroutine[None, None, Database]]


@pytest.fixture(scope="session")
def migrated_template(postgres_cluster: PostgresCluster) -> str:
    """The name of a database that is already migrated: a copy is cheaper than a migration."""
    url = postgres_cluster.create_database("store_template")

    async def migrate() -> None:
        await (await open_database(url)).close()

    asyncio.run(migrate())
    return "store_template"


@pytest.fixture(params=["inline", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens the same fresh database each time it is called."""
    if request.param == "postgres":
        template: str = request.getfixturevalue("migrated_template")
        cluster: PostgresCluster = request.getfixturevalue("postgres_cluster")
        url = cluster.create_database(template=template)
        yield lambda: open_database(url)
        cluster.drop_database(url)
    elif request.param == "sqlite":
        yield lambda: open_database(f"sqlite:///{tmp_path / 'ostler.db'}")
    else:

        async def inline() -> Database:
            return InlineDatabase()

        yield inline


@pytest.fixture
def in_world(opener: Opener) -> Callable[[Callable[[World], Coroutine[None, None, None]]], None]:
    """Runs a test's coroutine with a fresh database around it."""

    def play(scene: Callable[[World], Coroutine[None, None, None]]) -> None:
        async def whole() -> None:
            database = await opener()
            try:
                await scene(World(database))
            finally:
                await database.close()

        asyncio.run(whole())

    return play
