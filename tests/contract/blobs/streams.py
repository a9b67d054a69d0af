"""What the suite feeds into stores and collects from them."""

from collections.abc import AsyncIterator, Sequence

from ostler.blobs import Blob, Blobs

MEBIBYTE = 1024 * 1024


def pattern(size: int) -> bytes:
    """Bytes that differ at every offset that a store might confuse: no power of two divides the period."""
    return (bytes(range(251)) * (size // 251 + 1))[:size]


async def chunked(data: bytes, chunk_bytes: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), chunk_bytes):
        yield data[start : start + chunk_bytes]


async def broken_after(data: bytes, error: BaseException) -> AsyncIterator[bytes]:
    """A client that goes away in the middle."""
    yield data
    raise error


async def collected(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


async def pages(blobs: Blobs, prefix: str = "", *, after: str = "", page_keys: int = 1000) -> list[Sequence[Blob]]:
    return [page async for page in blobs.list(prefix, after=after, page_keys=page_keys)]


async def keys(blobs: Blobs, prefix: str = "", *, after: str = "", page_keys: int = 1000) -> list[str]:
    return [blob.key for page in await pages(blobs, prefix, after=after, page_keys=page_keys) for blob in page]
