"""The doctor's test of a store: it asks for each promise that a store may be set up to break without a word.

A bucket policy may allow reading but not deleting, and some S3 services accept a conditional put and ignore the
condition; both would surface later as something else.
"""

from ostler.blobs.contract import Blobs
from ostler.blobs.errors import BlobExists, BlobMissing, BlobStoreUnfit

PROBE_KEY = "checks/probe"


async def probe(blobs: Blobs) -> None:
    """Store, replace, read, list and delete one small blob; raise what stood in the way."""
    await blobs.put(PROBE_KEY, b"first")
    await blobs.put(PROBE_KEY, b"probe")
    if await blobs.get(PROBE_KEY) != b"probe":
        raise _unfit(blobs, "returns something else than was stored")
    if await blobs.get_range(PROBE_KEY, 1, 3) != b"rob":
        raise _unfit(blobs, "ignores the range of a read")
    try:
        await blobs.put(PROBE_KEY, b"third", if_absent=True)
    except BlobExists:
        pass
    else:
        raise _unfit(blobs, "ignores the condition of a conditional write")
    keys = [blob.key async for page in blobs.list("checks") for blob in page]
    if PROBE_KEY not in keys:
        raise _unfit(blobs, "does not list what was just stored")
    await blobs.delete(PROBE_KEY)
    try:
        await blobs.head(PROBE_KEY)
    except BlobMissing:
        return
    raise _unfit(blobs, "still has what was just deleted")


def _unfit(blobs: Blobs, breach: str) -> BlobStoreUnfit:
    return BlobStoreUnfit(
        f"The blob store {blobs.description} {breach}.",
        "Use AWS S3, MinIO, Ceph, SeaweedFS or a local folder; put no cache before the store.",
    )
