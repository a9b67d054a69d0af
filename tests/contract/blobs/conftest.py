"""The stores that the conformance suite runs on, each opened twice as two processes would."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ostler.blobs import Blobs, open_blobs
from ostler.blobs.memory import MemoryBlobs
from tests.parts.s3 import S3Server


class Stores(NamedTuple):
    """Two stores over the same blobs."""

    blobs: Blobs
    other: Blobs


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["memory", "folder", "s3"])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    def folder() -> Blobs:
        return open_blobs(f"file://{tmp_path}/blobs")

    contents: dict[str, bytes] = {}
    opener: Callable[[], Blobs]
    if request.param == "s3":
        server: S3Server = request.getfixturevalue("s3_server")
        url = server.new_blobs_url()
        opener = lambda: open_blobs(url)  # noqa: E731
    elif request.param == "folder":
        opener = folder
    else:
        opener = lambda: MemoryBlobs(contents)  # noqa: E731
    pair = Stores(opener(), opener())
    yield pair
    for store in pair:
        await store.aclose()


@pytest.fixture
def blobs(stores: Stores) -> Blobs:
    return stores.blobs
