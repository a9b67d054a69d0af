"""Every test of this folder plays against the application over each database."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest

from ostler.store.database import Database
from ostler.store.inline import InlineDatabase
from ostler.store.open import open_database
from ostler.testing.asgi import Lifespan
from tests.contract.server.installation import Installation
from tests.parts.postgres import PostgresCluster

Scene = Callable[[Installation], Coroutine[None, None, None]]
Opener = Callable[[], Coroutine[None, None, Database]]


@pytest.fixture(scope="session")
def migrated_server_template(postgres_cluster: PostgresCluster) -> str:
    """The name of a database that is already migrated: a copy is cheaper than a migration."""
    url = postgres_cluster.create_database("server_template")

    async def migrate() -> None:
        await (await open_database(url)).close()

    asyncio.run(migrate())
    return "server_template"


@pytest.fixture(params=["inline", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens a fresh database."""
    if request.param == "postgres":
        template: str = request.getfixturevalue("migrated_server_template")
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


def _player(opener: Opener) -> Callable[[Scene], None]:
    def play(scene: Scene) -> None:
        async def whole() -> None:
            database = await opener()
            try:
                installation = Installation(database)
                lifespan = Lifespan(installation.control.application)
                await lifespan.startup()
                try:
                    async with asyncio.timeout(20):
                        await scene(installation)
                finally:
                    await lifespan.shutdown()
            finally:
                await database.close()

        asyncio.run(whole())

    return play


@pytest.fixture
def served(opener: Opener) -> Callable[[Scene], None]:
    """Runs a test's coroutine against a control plane over each database."""
    return _player(opener)


@pytest.fixture
def served_inline() -> Callable[[Scene], None]:
    """The same over one database only, for what does not depend on it."""

    async def inline() -> Database:
        return InlineDatabase()

    return _player(inline)
