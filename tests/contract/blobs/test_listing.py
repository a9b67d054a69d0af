"""Listing: every blob once, in order, resumable, and never one of the neighbour's."""

import asyncio

import pytest

from ostler.blobs import Blobs, delete_below
from tests.contract.blobs.conftest import Stores
from tests.contract.blobs.streams import keys, pages

pytestmark = pytest.mark.anyio

KEYS = sorted(
    [f"logs/job_{job}/{part:04d}" for job in ("01a", "01b", "01ba") for part in range(7)]
    + [f"artifacts/run_{run}/a_{part}" for run in range(3) for part in range(2)]
    + ["states/ws_1", "states/ws_2", "top"]
)


@pytest.fixture
async def filled(stores: Stores) -> Blobs:
    await asyncio.gather(*(stores.blobs.put(key, b"x" * len(key)) for key in reversed(KEYS)))
    return stores.other


async def test_lists_everything_in_order_with_sizes(filled: Blobs) -> None:
    assert await keys(filled) == KEYS
    for page in await pages(filled):
        for blob in page:
            assert blob == await filled.head(blob.key)
            assert blob.size == len(blob.key)


async def test_a_prefix_is_whole_segments(filled: Blobs) -> None:
    assert await keys(filled, "logs/job_01b") == [key for key in KEYS if key.startswith("logs/job_01b/")]
    assert await keys(filled, "logs") == [key for key in KEYS if key.startswith("logs/")]
    assert await keys(filled, "log") == []
    assert await keys(filled, "logs/job_01b/0001") == []
    assert await keys(filled, "nothing/here") == []


async def test_pages_are_full_and_a_listing_resumes_after_any_key(filled: Blobs) -> None:
    sizes = [len(page) for page in await pages(filled, "logs", page_keys=5)]
    assert sizes == [5, 5, 5, 5, 1]
    for position in (0, 6, 20, len(KEYS) - 1):
        assert await keys(filled, after=KEYS[position], page_keys=4) == KEYS[position + 1 :]
    below = [key for key in KEYS if key.startswith("logs/job_01a/")]
    assert await keys(filled, "logs/job_01a", after=below[3]) == below[4:]
    assert await keys(filled, "logs/job_01a", after="logs/job_01a/0003x") == below[4:]


async def test_a_listing_goes_on_while_its_pages_are_deleted(filled: Blobs) -> None:
    seen: list[str] = []
    async for page in filled.list("logs", page_keys=4):
        seen += [blob.key for blob in page]
        await asyncio.gather(*(filled.delete(blob.key) for blob in page))
    assert seen == [key for key in KEYS if key.startswith("logs/")]
    assert await keys(filled, "logs") == []


async def test_deletes_all_that_is_below_a_prefix_and_nothing_else(filled: Blobs) -> None:
    assert await delete_below(filled, "logs/job_01b") == 7
    assert await delete_below(filled, "logs/job_01b") == 0
    assert await keys(filled) == [key for key in KEYS if not key.startswith("logs/job_01b/")]
