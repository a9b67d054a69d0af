"""One installation, as `ostler up` makes it, for every test that does not break it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.installation import Installation


@pytest.fixture(scope="package")
def site() -> Iterator[Installation]:
    with Installation() as installation:
        installation.up(runners=2, OSTLER_AGENT_NAME="host")
        yield installation


@pytest.fixture
def gate(site: Installation, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file that a job waits for; it is made at the end at the latest, so that no job waits for ever."""
    path = site.outside / request.node.name
    yield path
    path.touch()


@pytest.fixture(autouse=True)
def told(site: Installation, request: pytest.FixtureRequest) -> Iterator[None]:
    """Show the logs of every process when a test failed."""
    before = request.session.testsfailed
    yield
    if request.session.testsfailed > before:
        site.complain()
