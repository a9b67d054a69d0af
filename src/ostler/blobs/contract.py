"""The promise that every blob store keeps, and that the conformance suite in tests/contract/blobs checks.

A blob is an immutable-by-convention sequence of bytes under a key: a sealed log segment, an artifact, a cache entry, a
saved plan, a state version. What a blob means, who may read it and how long it lives is the business of the database,
which holds the keys; a store knows nothing but keys and bytes.

*Lifecycle.* `ostler.blobs.open_blobs(url)` makes a store; it does no I/O that waits, so a server can start while its
store is away. `check` tells whether the store works. `aclose` ends it; no operation may be running or follow.

*Keys.* See `ostler.blobs.keys`. A key is a leaf: no key may also be a directory of another (`a/b` and `a/b/c`).

*Atomicity.* A blob is there completely or not at all. A put that fails, is cancelled, or whose process dies leaves the
key as it was: absent, or with its former content. Readers never see a mixture; a stream that was begun goes on with
the content it began with, or fails.

*Durability.* When a put returns, the blob survives a crash of this process and of its host.

*Consistency.* What has been put is visible to every `get`, `head` and `list` that starts afterwards, from any process.
Concurrent puts to one key: one of them wins wholly. `if_absent` puts to one key: exactly one succeeds, from however
many processes, and everyone else gets BlobExists.

*Idempotency.* `put` and `delete` may be repeated. A put whose outcome is unknown (BlobStoreUnavailable, cancellation)
may still take effect, as long as the request is on its way: who puts again under the same key puts the same content.
Because a lost answer is retried, an `if_absent` put may report BlobExists to the very caller that wrote the blob: who
must tell the two apart compares the content.

*Concurrency.* All operations may run concurrently, from tasks of one event loop.

*Deadlines.* Every operation ends within the store's deadline (30 s unless set), counted anew for each chunk of a
stream, each page of a listing and each few MiB of a put; after that it raises BlobStoreUnavailable. How long the
caller's own iterator takes is the caller's business.

*Errors.* Only those of `ostler.blobs.errors`, except for what the caller's own iterator raises in `put_stream`.
"""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Sequence
from typing import NamedTuple, Protocol

CHUNK_BYTES = 1024 * 1024
"""How much a stream carries at a time, about."""

PAGE_KEYS = 1000
"""How many blobs a page of a listing holds, at most."""


class Blob(NamedTuple):
    """What a store knows about a blob without reading it."""

    key: str
    size: int
    etag: str
    """Opaque; two different contents of one key never share it within one store."""


class Stored(NamedTuple):
    """What was learned about a stream while it was stored."""

    size: int
    sha256: str


class Blobs(Protocol):
    """A store of blobs; the rules that hold for all operations are in this module's docstring."""

    @property
    def description(self) -> str:
        """Where the blobs are, for people: never with credentials."""
        ...

    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        """Store a blob, replacing what was there; with `if_absent`, raise BlobExists rather than replace."""
        ...

    async def put_stream(self, key: str, chunks: AsyncIterable[bytes], *, at_most: int) -> Stored:
        """Store what the iterator yields, replacing what was there, holding only a few chunks in memory.

        More than `at_most` bytes: BlobTooLarge. That, or an exception from the iterator, leaves the key as it was.
        """
        ...

    async def get(self, key: str) -> bytes:
        """The whole blob, in memory: for blobs known to be small; or BlobMissing."""
        ...

    async def get_range(self, key: str, start: int, length: int) -> bytes:
        """The bytes from `start`, `length` of them or as many as there are: b"" beyond the end; or BlobMissing."""
        ...

    def get_stream(self, key: str, *, start: int = 0) -> AsyncGenerator[bytes, None]:
        """The blob from `start` in chunks of about CHUNK_BYTES; BlobMissing comes with the first of them.

        Close the iterator (`contextlib.aclosing`) unless it is read to its end.
        """
        ...

    async def head(self, key: str) -> Blob:
        """Size and etag of a blob, or BlobMissing."""
        ...

    async def delete(self, key: str) -> None:
        """Remove a blob; it is no error if there is none."""
        ...

    def list(self, prefix: str = "", *, after: str = "", page_keys: int = PAGE_KEYS) -> AsyncIterator[Sequence[Blob]]:
        """The blobs below a prefix of whole segments, in pages, ascending by the bytes of their keys.

        `after`: only keys greater than this one, the way to go on with a listing that was left. A blob stored or
        deleted meanwhile may or may not appear; every other one appears exactly once. A prefix of at least two
        segments (`logs/job_1`) is cheap in every store; a shorter one may read the whole store.
        """
        ...

    async def presign(self, key: str, seconds: int) -> str | None:
        """A URL under which anyone may GET this one blob for so long, or None if it has to go through the server.

        Whether the blob exists is not looked at.
        """
        ...

    async def check(self, *, write: bool = False) -> None:
        """Raise the BlobError that operations would now meet: for readiness, and with `write` for the doctor.

        With `write`, a probe is stored, replaced, read and deleted, and the promise of `if_absent` is put to the test.
        """
        ...

    async def aclose(self) -> None:
        """Release what the store holds; it is not used afterwards."""
        ...
