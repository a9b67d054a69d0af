"""One way to bound every operation of every store, on virtual time as well as real."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from ostler.blobs.errors import BlobStoreUnavailable

DEADLINE_SECONDS = 30.0

Result = TypeVar("Result")


async def within(seconds: float, where: str, work: Awaitable[Result]) -> Result:
    """The result of the work, or BlobStoreUnavailable once so many seconds have passed."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise BlobStoreUnavailable(
            f"{where} did not answer within {seconds:g} s.",
            "See whether the store or the network to it is overloaded or down; Ostler tries again.",
        ) from None


async def each_within(seconds: float, where: str, items: AsyncIterator[Result]) -> AsyncIterator[Result]:
    """The items of an iterator, each of them bounded."""
    while True:
        try:
            item = await within(seconds, where, anext(items))
        except StopAsyncIteration:
            return
        yield item
