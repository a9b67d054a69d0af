"""A blob is there completely or not at all, whoever writes, fails, is cancelled or reads meanwhile."""

import asyncio

import pytest

from ostler.blobs import Blobs
from ostler.blobs.errors import BlobExists, BlobMissing, BlobTooLarge
from tests.contract.blobs.conftest import Stores
from tests.contract.blobs.streams import MEBIBYTE, broken_after, chunked, collected, keys, pattern

pytestmark = pytest.mark.anyio


class ClientGone(Exception):
    """What the server's own code raises when an upload breaks off."""


async def test_a_conditional_put_changes_nothing_that_exists(stores: Stores) -> None:
    await stores.blobs.put("plans/run_1", b"first", if_absent=True)
    with pytest.raises(BlobExists):
        await stores.other.put("plans/run_1", b"second", if_absent=True)
    assert await stores.blobs.get("plans/run_1") == b"first"
    await stores.blobs.delete("plans/run_1")
    await stores.other.put("plans/run_1", b"third", if_absent=True)
    assert await stores.blobs.get("plans/run_1") == b"third"


async def test_of_racing_conditional_puts_exactly_one_wins(stores: Stores) -> None:
    async def attempt(number: int) -> int | None:
        store = stores[number % 2]
        try:
            await store.put("plans/run_1", b"%d" % number * 1000, if_absent=True)
        except BlobExists:
            return None
        return number

    outcomes = await asyncio.gather(*(attempt(number) for number in range(10, 30)))
    winners = [number for number in outcomes if number is not None]
    assert len(winners) == 1
    assert await stores.blobs.get("plans/run_1") == b"%d" % winners[0] * 1000


async def test_readers_never_see_a_mixture(stores: Stores) -> None:
    size = 2 * MEBIBYTE
    await stores.blobs.put("states/ws_1", b"0" * size)
    seen: set[bytes] = set()

    async def write(letter: bytes) -> None:
        await stores.blobs.put_stream("states/ws_1", chunked(letter * size, 300_000), at_most=size)

    async def read() -> None:
        content = await stores.other.get("states/ws_1")
        assert len(content) == size
        seen.add(content[:1])
        assert content == content[:1] * size

    async with asyncio.TaskGroup() as group:
        for letter in b"abcdef":
            group.create_task(write(bytes([letter])))
            group.create_task(read())
            group.create_task(read())
    assert await stores.blobs.get("states/ws_1") in {bytes([letter]) * size for letter in b"abcdef"}
    assert seen


@pytest.mark.parametrize("size", [10, 12 * MEBIBYTE])
async def test_a_broken_stream_leaves_the_key_as_it_was(blobs: Blobs, size: int) -> None:
    with pytest.raises(ClientGone):
        await blobs.put_stream("artifacts/run_1/a", broken_after(pattern(size), ClientGone()), at_most=2 * size)
    with pytest.raises(BlobMissing):
        await blobs.head("artifacts/run_1/a")
    await blobs.put("artifacts/run_1/a", b"former")
    with pytest.raises(FileNotFoundError):  # Whatever the caller raises stays his, even if a store has a use for it.
        await blobs.put_stream("artifacts/run_1/a", broken_after(pattern(size), FileNotFoundError()), at_most=2 * size)
    assert await blobs.get("artifacts/run_1/a") == b"former"
    assert await keys(blobs) == ["artifacts/run_1/a"]


@pytest.mark.parametrize("size", [10, 20 * MEBIBYTE])
async def test_a_stream_beyond_its_cap_is_not_stored(blobs: Blobs, size: int) -> None:
    with pytest.raises(BlobTooLarge):
        await blobs.put_stream("artifacts/run_1/a", chunked(pattern(size), 500_000), at_most=size - 1)
    with pytest.raises(BlobMissing):
        await blobs.get("artifacts/run_1/a")


async def test_a_cancelled_stream_leaves_the_key_as_it_was(blobs: Blobs) -> None:
    arrived = asyncio.Event()

    class Stalled:
        """A client that stops sending and keeps the connection."""

        def __init__(self) -> None:
            self._sent = 0

        def __aiter__(self) -> "Stalled":
            return self

        async def __anext__(self) -> bytes:
            self._sent += 1
            if self._sent > 11:
                arrived.set()
                await asyncio.Event().wait()
            return pattern(MEBIBYTE)

    await blobs.put("artifacts/run_1/a", b"former")
    upload = asyncio.create_task(blobs.put_stream("artifacts/run_1/a", Stalled(), at_most=100 * MEBIBYTE))
    await arrived.wait()
    upload.cancel()
    with pytest.raises(asyncio.CancelledError):
        await upload
    assert await blobs.get("artifacts/run_1/a") == b"former"
    assert await keys(blobs) == ["artifacts/run_1/a"]


async def test_many_operations_at_once(stores: Stores) -> None:
    async def cycle(number: int) -> None:
        key = f"logs/job_{number % 5}/{number}"
        data = pattern(10_000 + number)
        await stores[number % 2].put(key, data)
        assert await stores[(number + 1) % 2].get(key) == data
        assert await collected(stores[number % 2].get_stream(key, start=number)) == data[number:]

    async with asyncio.TaskGroup() as group:
        for number in range(60):
            group.create_task(cycle(number))
    assert len(await keys(stores.blobs, "logs")) == 60
