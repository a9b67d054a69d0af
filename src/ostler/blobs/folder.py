"""Blobs in a folder: what `ostler up` uses, and any single server with a disk.

The event loop never touches the disk: whole operations run in threads, streams in pieces of a mebibyte. Replicas may
share a folder only if its file system renames and links atomically and shows that to all of them at once (a local one
does, NFS mostly does, object-store mounts do not: use S3 there).
"""

import asyncio
import errno
import os
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, ParamSpec, TypeVar

from ostler.blobs.contract import CHUNK_BYTES, PAGE_KEYS, Blob, Stored
from ostler.blobs.deadline import DEADLINE_SECONDS, within
from ostler.blobs.errors import (
    BlobError,
    BlobExists,
    BlobMissing,
    BlobStoreDenied,
    BlobStoreFull,
    BlobStoreUnavailable,
)
from ostler.blobs.folder_files import FolderFiles
from ostler.blobs.keys import checked_key, checked_prefix
from ostler.blobs.metered import Metered
from ostler.blobs.probe import probe

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class FolderBlobs:
    """A store of blobs in a folder of its own, which is made at the first write if it is not there."""

    def __init__(self, root: Path, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._files = FolderFiles(root)
        self._deadline = deadline_seconds

    @property
    def description(self) -> str:
        return str(self._files.root)

    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        checked_key(key)
        if not await self._blocking(key, self._store, key, data, if_absent=if_absent):
            raise BlobExists(key)

    async def put_stream(self, key: str, chunks: AsyncIterable[bytes], *, at_most: int) -> Stored:
        checked_key(key)
        incoming = await self._blocking(key, self._files.begin)
        source = Metered(key, chunks, at_most)
        try:
            async for piece in _pieces(source):
                await self._blocking(key, incoming.write, piece)
            await self._blocking(key, self._finish, incoming, key)
        except BaseException:
            await asyncio.to_thread(self._files.abandon, incoming)
            raise
        return source.stored

    async def get(self, key: str) -> bytes:
        checked_key(key)
        return await self._blocking(key, self._read, key, 0, -1)

    async def get_range(self, key: str, start: int, length: int) -> bytes:
        checked_key(key)
        return await self._blocking(key, self._read, key, start, length)

    async def get_stream(self, key: str, *, start: int = 0) -> AsyncGenerator[bytes, None]:
        checked_key(key)
        blob = await self._blocking(key, self._files.open, key)
        with blob:
            while chunk := await self._blocking(key, os.pread, blob.fileno(), CHUNK_BYTES, start):
                start += len(chunk)
                yield chunk

    async def head(self, key: str) -> Blob:
        checked_key(key)
        return await self._blocking(key, self._files.head, key)

    async def delete(self, key: str) -> None:
        checked_key(key)
        await self._blocking(key, self._files.delete, key)

    async def list(
        self, prefix: str = "", *, after: str = "", page_keys: int = PAGE_KEYS
    ) -> AsyncIterator[Sequence[Blob]]:
        blobs = self._files.list(checked_prefix(prefix), checked_prefix(after))
        while page := await self._blocking(prefix, lambda: list(islice(blobs, page_keys))):
            yield page

    async def presign(self, key: str, seconds: int) -> str | None:
        checked_key(key)
        return None

    async def check(self, *, write: bool = False) -> None:
        await self._blocking("", self._files.prepare)
        if write:
            await self._blocking("", self._files.remove_abandoned)
            await probe(self)

    async def aclose(self) -> None:
        """Every operation closes its own files."""

    def _store(self, key: str, data: bytes, *, if_absent: bool) -> bool:
        incoming = self._files.begin()
        try:
            incoming.write(data)
            return self._files.finish(incoming, key, if_absent=if_absent)
        except BaseException:
            self._files.abandon(incoming)
            raise

    def _finish(self, incoming: BinaryIO, key: str) -> None:
        self._files.finish(incoming, key, if_absent=False)

    def _read(self, key: str, start: int, length: int) -> bytes:
        with self._files.open(key) as blob:
            blob.seek(start)
            return blob.read(length)

    async def _blocking(
        self, key: str, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        try:
            return await within(self._deadline, self.description, asyncio.to_thread(work, *args, **kwargs))
        except FileNotFoundError:
            raise BlobMissing(key) from None
        except OSError as error:
            raise self._translated(error) from error

    def _translated(self, error: OSError) -> BlobError:
        cause = f"The folder {self.description}: {error.strerror or error}."
        if error.errno in _FULL:
            return BlobStoreFull(cause, "Free space on its file system, or shorten the retention of runs.")
        if error.errno in _DENIED:
            return BlobStoreDenied(cause, "Give the user that runs the server the right to write there.")
        return BlobStoreUnavailable(cause, "See the kernel's log for the state of the disk; Ostler tries again.")


async def _pieces(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in pieces worth the trip to a thread."""
    piece = bytearray()
    async for chunk in chunks:
        piece += chunk
        if len(piece) >= CHUNK_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)
