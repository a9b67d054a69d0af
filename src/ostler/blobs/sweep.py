"""Deleting everything below a prefix: how retention removes a job's logs or a run's artifacts."""

import asyncio

from ostler.blobs.contract import Blobs

_AT_ONCE = 16


async def delete_below(blobs: Blobs, prefix: str) -> int:
    """Delete every blob below the prefix and return how many there were.

    Not atomic, and safe to repeat: after a failure in the middle, the rest is deleted by the next call.
    """
    deleted = 0
    async for page in blobs.list(prefix):
        for start in range(0, len(page), _AT_ONCE):
            async with asyncio.TaskGroup() as deletions:
                for blob in page[start : start + _AT_ONCE]:
                    deletions.create_task(blobs.delete(blob.key))
        deleted += len(page)
    return deleted
