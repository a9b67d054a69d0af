"""A caller's stream on its way into a store: counted, hashed and capped the same way for every store."""

import hashlib
from collections.abc import AsyncIterable, AsyncIterator

from ostler.blobs.contract import Stored
from ostler.blobs.errors import BlobTooLarge


class Metered:
    """Iterate once to pass the chunks on; `stored` then says what went by, and `failure` what broke the stream."""

    __slots__ = ("_at_most", "_chunks", "_digest", "_key", "_size", "failure")

    def __init__(self, key: str, chunks: AsyncIterable[bytes], at_most: int) -> None:
        self._key = key
        self._chunks = chunks
        self._at_most = at_most
        self._digest = hashlib.sha256()
        self._size = 0
        self.failure: Exception | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._chunks:
                self._take(chunk)
                yield chunk
        except Exception as error:
            self.failure = error
            raise

    @property
    def stored(self) -> Stored:
        """Size and digest of all that went by."""
        return Stored(self._size, self._digest.hexdigest())

    def _take(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size > self._at_most:
            raise BlobTooLarge(self._key, self._at_most)
        self._digest.update(chunk)
