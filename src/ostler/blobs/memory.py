"""A blob store in memory, for tests and the simulation: the whole contract, no thread, no clock, no surprise.

Its only scheduling points are those of the `before` hook, through which a simulation delays operations or makes them
fail; without a hook every operation completes at once.
"""

import hashlib
from bisect import bisect_right
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence

from ostler.blobs.contract import CHUNK_BYTES, PAGE_KEYS, Blob, Stored
from ostler.blobs.deadline import DEADLINE_SECONDS, within
from ostler.blobs.errors import BlobExists, BlobMissing
from ostler.blobs.keys import checked_key, checked_prefix, is_under
from ostler.blobs.metered import Metered
from ostler.blobs.probe import probe

Before = Callable[[str, str], Awaitable[None]]
"""Called with the operation's name and the key before it takes effect; may wait, may raise a BlobError."""


async def _at_once(operation: str, key: str) -> None:
    """The hook of a store that nothing delays."""


class MemoryBlobs:
    """Blobs in a dictionary; two stores share them by sharing the dictionary."""

    def __init__(
        self,
        contents: dict[str, bytes] | None = None,
        *,
        before: Before = _at_once,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        self._contents = {} if contents is None else contents
        self._before = before
        self._deadline = deadline_seconds

    @property
    def description(self) -> str:
        return "memory"

    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        checked_key(key)
        await self._arrive("put", key)
        if if_absent and key in self._contents:
            raise BlobExists(key)
        self._contents[key] = bytes(data)

    async def put_stream(self, key: str, chunks: AsyncIterable[bytes], *, at_most: int) -> Stored:
        checked_key(key)
        source = Metered(key, chunks, at_most)
        content = b"".join([chunk async for chunk in source])
        await self._arrive("put_stream", key)
        self._contents[key] = content
        return source.stored

    async def get(self, key: str) -> bytes:
        checked_key(key)
        await self._arrive("get", key)
        return self._content(key)

    async def get_range(self, key: str, start: int, length: int) -> bytes:
        checked_key(key)
        await self._arrive("get_range", key)
        return self._content(key)[start : start + length]

    async def get_stream(self, key: str, *, start: int = 0) -> AsyncGenerator[bytes, None]:
        checked_key(key)
        await self._arrive("get_stream", key)
        content = self._content(key)
        for offset in range(start, len(content), CHUNK_BYTES):
            await self._arrive("get_stream", key)
            yield content[offset : offset + CHUNK_BYTES]

    async def head(self, key: str) -> Blob:
        checked_key(key)
        await self._arrive("head", key)
        return self._blob(key, self._content(key))

    async def delete(self, key: str) -> None:
        checked_key(key)
        await self._arrive("delete", key)
        self._contents.pop(key, None)

    async def list(
        self, prefix: str = "", *, after: str = "", page_keys: int = PAGE_KEYS
    ) -> AsyncIterator[Sequence[Blob]]:
        checked_prefix(prefix)
        last = checked_prefix(after)
        while True:
            await self._arrive("list", prefix)
            keys = sorted(key for key in self._contents if is_under(key, prefix))
            start = bisect_right(keys, last)
            page = [self._blob(key, self._contents[key]) for key in keys[start : start + page_keys]]
            if not page:
                return
            last = page[-1].key
            yield page

    async def presign(self, key: str, seconds: int) -> str | None:
        checked_key(key)
        return None

    async def check(self, *, write: bool = False) -> None:
        await self._arrive("check", "")
        if write:
            await probe(self)

    async def aclose(self) -> None:
        """Nothing is held."""

    async def _arrive(self, operation: str, key: str) -> None:
        await within(self._deadline, self.description, self._before(operation, key))

    def _content(self, key: str) -> bytes:
        content = self._contents.get(key)
        if content is None:
            raise BlobMissing(key)
        return content

    @staticmethod
    def _blob(key: str, content: bytes) -> Blob:
        return Blob(key, len(content), hashlib.sha256(content).hexdigest()[:32])
