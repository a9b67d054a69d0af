"""Fixtures that hand the real parts to tests, started once per worker and only if a test asks.

Registered by `pytest_plugins` in tests/conftest.py. Where a part is missing, its tests are skipped with the reason and
the command that installs it.
"""

from collections.abc import Iterator

import pytest

from tests.parts.errors import PartMissing
from tests.parts.postgres import PostgresCluster
from tests.parts.s3 import S3Server


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[PostgresCluster]:
    """A cluster shared by all tests of a worker: whoever crashes or fails over starts one of his own."""
    try:
        cluster = PostgresCluster()
    except PartMissing as missing:
        pytest.skip(str(missing))
    with cluster:
        yield cluster


@pytest.fixture
def postgres_database(postgres_cluster: PostgresCluster) -> Iterator[str]:
    """The URL of an empty database of this test's own."""
    url = postgres_cluster.create_database()
    yield url
    postgres_cluster.drop_database(url)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """An S3 server shared by all tests of a worker: each makes buckets of its own."""
    try:
        server = S3Server()
    except PartMissing as missing:
        pytest.skip(str(missing))
    with server:
        yield server
