"""Every store returns what was put, the part that was asked for, and the right error for what is not there."""

import hashlib
from contextlib import aclosing

import pytest

from ostler.blobs import CHUNK_BYTES, Blobs
from ostler.blobs.errors import BlobMissing, InvalidKey
from tests.contract.blobs.conftest import Stores
from tests.contract.blobs.streams import MEBIBYTE, chunked, collected, pattern

pytestmark = pytest.mark.anyio

SIZES = [0, 1, 1000, MEBIBYTE - 1, MEBIBYTE + 1, 20 * MEBIBYTE + 7]
HOSTILE_KEYS = [
    "",
    "/",
    "/etc/passwd",
    "..",
    "../up",
    "logs/../../up",
    "logs/./job",
    "logs//job",
    "logs/",
    "a\0b",
    "a\nb",
    "a b",
    "a\\b",
    "a,b",
    "a%2e%2e",
    "Upper",
    "ünicode",
    "a?b",
    "a#b",
    "*",
    "-rf",
    "+a",
    ".hidden",
    "x" * 241,
    "logs/" + "y" * 240,
]


@pytest.mark.parametrize("size", SIZES)
async def test_what_was_put_comes_back(stores: Stores, size: int) -> None:
    data = pattern(size)
    await stores.blobs.put("logs/job_1/0", data)
    assert await stores.other.get("logs/job_1/0") == data
    assert (await stores.other.head("logs/job_1/0")).size == size
    assert await collected(stores.other.get_stream("logs/job_1/0")) == data


@pytest.mark.parametrize("size", SIZES)
async def test_a_stream_is_stored_counted_and_hashed(stores: Stores, size: int) -> None:
    data = pattern(size)
    stored = await stores.blobs.put_stream("artifacts/run_1/a", chunked(data, 100_003), at_most=size)
    assert stored == (size, hashlib.sha256(data).hexdigest())
    assert await stores.other.get("artifacts/run_1/a") == data


async def test_the_last_put_wins(stores: Stores) -> None:
    await stores.blobs.put("states/ws_1", b"one")
    first = await stores.blobs.head("states/ws_1")
    await stores.other.put("states/ws_1", b"two")
    second = await stores.blobs.head("states/ws_1")
    assert await stores.blobs.get("states/ws_1") == b"two"
    assert first.etag != second.etag
    assert second == await stores.other.head("states/ws_1")


async def test_a_range_is_what_there_is_of_it(blobs: Blobs) -> None:
    data = pattern(10_000)
    await blobs.put("logs/job_1/0", data)
    await blobs.put("logs/job_1/empty", b"")
    for start, length in [(0, 1), (0, 10_000), (9_999, 1), (4_000, 17), (9_990, 100), (10_000, 1), (20_000, 5), (3, 0)]:
        assert await blobs.get_range("logs/job_1/0", start, length) == data[start : start + length]
    assert await blobs.get_range("logs/job_1/empty", 0, 10) == b""


async def test_a_stream_starts_where_asked_and_may_be_left(blobs: Blobs) -> None:
    data = pattern(3 * CHUNK_BYTES + 5)
    await blobs.put("artifacts/run_1/a", data)
    for start in (0, 1, CHUNK_BYTES, 3 * CHUNK_BYTES + 4, len(data), len(data) + 9):
        assert await collected(blobs.get_stream("artifacts/run_1/a", start=start)) == data[start:]
    async with aclosing(blobs.get_stream("artifacts/run_1/a")) as chunks:
        first = await anext(chunks)
    assert data.startswith(first)


async def test_what_is_not_there_is_missing(blobs: Blobs) -> None:
    await blobs.put("logs/job_1/0", b"here")
    for key in ("logs/job_1/1", "logs/job_2/0", "logs/job_1", "logs"):
        with pytest.raises(BlobMissing):
            await blobs.get(key)
        with pytest.raises(BlobMissing):
            await blobs.get_range(key, 0, 1)
        with pytest.raises(BlobMissing):
            await blobs.get_range(key, 0, 0)
        with pytest.raises(BlobMissing):
            await blobs.head(key)
        with pytest.raises(BlobMissing):
            await collected(blobs.get_stream(key))
        await blobs.delete(key)
    assert await blobs.get("logs/job_1/0") == b"here"


async def test_deleting_is_seen_by_all_and_may_be_repeated(stores: Stores) -> None:
    await stores.blobs.put("logs/job_1/0", b"here")
    await stores.blobs.delete("logs/job_1/0")
    with pytest.raises(BlobMissing):
        await stores.other.get("logs/job_1/0")
    await stores.other.delete("logs/job_1/0")


@pytest.mark.parametrize("key", HOSTILE_KEYS)
async def test_no_operation_takes_a_hostile_key(blobs: Blobs, key: str) -> None:
    with pytest.raises(InvalidKey):
        await blobs.put(key, b"")
    with pytest.raises(InvalidKey):
        await blobs.put_stream(key, chunked(b"data", 1), at_most=10)
    with pytest.raises(InvalidKey):
        await blobs.get(key)
    with pytest.raises(InvalidKey):
        await blobs.get_range(key, 0, 1)
    with pytest.raises(InvalidKey):
        await collected(blobs.get_stream(key))
    with pytest.raises(InvalidKey):
        await blobs.head(key)
    with pytest.raises(InvalidKey):
        await blobs.delete(key)
    with pytest.raises(InvalidKey):
        await blobs.presign(key, 60)
    if key:
        with pytest.raises(InvalidKey):
            await anext(blobs.list(key))


async def test_every_character_and_length_allowed_works(blobs: Blobs) -> None:
    keys = ["0", "a/b/c/d/e/f", "abcdefghijklmnopqrstuvwxyz0123456789_=.+-", "a..b/c+-.", "caches/" + "k" * 233]
    for key in keys:
        await blobs.put(key, key.encode())
    for key in keys:
        assert await blobs.get(key) == key.encode()
    listed = [blob.key async for page in blobs.list() for blob in page]
    assert sorted(listed) == sorted(keys)


async def test_the_doctors_probe_finds_nothing_and_leaves_nothing(blobs: Blobs) -> None:
    await blobs.check()
    await blobs.check(write=True)
    assert [page async for page in blobs.list()] == []
