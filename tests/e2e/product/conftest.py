"""One installation, as `ostler up` makes it, for every test that does not break it."""

from collections.abc import Iterator

import pytest

from tests.parts.installation import Installation


@pytest.fixture(scope="package")
def site() -> Iterator[Installation]:
    with Installation() as installation:
        installation.up(runners=2, OSTLER_AGENT_NAME="host")
        yield installation
