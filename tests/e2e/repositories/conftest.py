"""One installation with runners for all tests here, and git repositories that they may push to."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.repositories.bare import BareRepository
from tests.parts.installation import Installation

Repository = Callable[..., BareRepository]


@pytest.fixture(scope="package")
def site() -> Iterator[Installation]:
    """`ostler up` with two runners."""
    with Installation() as installation:
        installation.up(runners=2)
        yield installation


@pytest.fixture
def repository(site: Installation, tmp_path: Path) -> Repository:
    """Makes a repository with workflows and connects it."""

    def made(name: str, workflows: dict[str, str], *options: str) -> BareRepository:
        bare = BareRepository(tmp_path / name, name)
        bare.commit({f".github/workflows/{path}": text for path, text in workflows.items()})
        site.ostler("repository", "remove", name)  # of a test that is run once more
        added = site.ostler("repository", "add", name, bare.url, *options)
        assert added.status == 0, added.err
        return bare

    return made


@pytest.fixture(autouse=True)
def told(site: Installation, request: pytest.FixtureRequest) -> Iterator[None]:
    """Show the logs of every process when a test failed."""
    before = request.session.testsfailed
    yield
    if request.session.testsfailed > before:
        site.complain()
