"""Blobs in an S3-compatible bucket: what replicas of the server share.

The library (obstore, Rust) signs, retries and splits large uploads; this module states how often and for how long, and
translates its errors. Some S3 services order a listing by path segment instead of by bytes: where one directory name
continues another with `+`, `-` or `.`, their order is theirs, and is still total and resumable.
"""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from ostler.blobs.contract import CHUNK_BYTES, PAGE_KEYS, Blob, Stored
from ostler.blobs.deadline import DEADLINE_SECONDS, each_within, within
from ostler.blobs.errors import BlobError, BlobMissing
from ostler.blobs.keys import checked_key, checked_prefix
from ostler.blobs.metered import Metered
from ostler.blobs.probe import probe
from ostler.blobs.s3_errors import BeyondEnd, translated

if TYPE_CHECKING:  # The library has these types for checkers only.
    from obstore import ObjectMeta
    from obstore.store import S3Config, S3Credential

_PART_BYTES = 8 * 1024 * 1024
_PARTS_AT_ONCE = 4
_RETRIES = 3
_LONGEST_PRESIGN_SECONDS = 7 * 24 * 3600
_LONGEST_TRANSFER = timedelta(days=1)


class Credentials(NamedTuple):
    """A fixed key pair; without one, the environment, the instance or the pod's identity provides."""

    access_key: str
    secret_key: str
    session_token: str | None = None

    def __repr__(self) -> str:
        return f"Credentials({self.access_key!r}, ...)"


class Bucket(NamedTuple):
    """Which bucket, and how to reach it."""

    name: str
    prefix: str = ""
    endpoint: str = ""
    """Empty: AWS itself, in the region."""
    public_endpoint: str = ""
    """Where runners and browsers reach the bucket; without it, only blobs in AWS itself get presigned URLs."""
    region: str = ""
    path_style: bool = False
    credentials: Credentials | None = None


class S3Blobs:
    """A store of blobs below a prefix of a bucket."""

    def __init__(self, bucket: Bucket, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._bucket = bucket
        self._deadline = deadline_seconds
        self._store = _open(bucket, bucket.endpoint, deadline_seconds)
        self._signer = _open(bucket, bucket.public_endpoint, deadline_seconds) if _may_presign(bucket) else None

    @property
    def description(self) -> str:
        where = f" at {self._bucket.endpoint}" if self._bucket.endpoint else ""
        return f"s3://{self._bucket.name}/{self._bucket.prefix}{where}"

    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        checked_key(key)
        allowed = self._deadline * (1 + len(data) // _PART_BYTES)
        with self._translated(key):
            await within(
                allowed,
                self.description,
                obstore.put_async(
                    self._store,
                    key,
                    data,
                    mode="create" if if_absent else "overwrite",
                    chunk_size=_PART_BYTES,
                    max_concurrency=_PARTS_AT_ONCE,
                ),
            )

    async def put_stream(self, key: str, chunks: AsyncIterable[bytes], *, at_most: int) -> Stored:
        checked_key(key)
        source = Metered(key, chunks, at_most)
        try:
            with self._translated(key):
                await obstore.put_async(
                    self._store, key, aiter(source), chunk_size=_PART_BYTES, max_concurrency=_PARTS_AT_ONCE
                )
        except BlobError:
            if source.failure is not None:
                raise source.failure from None
            raise
        return source.stored

    async def get(self, key: str) -> bytes:
        checked_key(key)
        with self._translated(key):
            return await within(self._deadline, self.description, self._read(key))

    async def get_range(self, key: str, start: int, length: int) -> bytes:
        if length == 0:
            await self.head(key)
            return b""
        checked_key(key)
        work = obstore.get_range_async(self._store, key, start=start, length=length)
        try:
            with self._translated(key):
                return bytes(await within(self._deadline, self.description, work))
        except BeyondEnd:
            return b""

    async def get_stream(self, key: str, *, start: int = 0) -> AsyncGenerator[bytes, None]:
        checked_key(key)
        work = obstore.get_async(self._store, key, options={"range": {"offset": start}} if start else {})
        try:
            with self._translated(key):
                answer = await within(self._deadline, self.description, work)
                chunks = answer.stream(min_chunk_size=CHUNK_BYTES)
                async for chunk in each_within(self._deadline, self.description, chunks):
                    yield bytes(chunk)
        except BeyondEnd:
            return

    async def head(self, key: str) -> Blob:
        checked_key(key)
        with self._translated(key):
            return _blob(await within(self._deadline, self.description, obstore.head_async(self._store, key)))

    async def delete(self, key: str) -> None:
        checked_key(key)
        try:
            with self._translated(key):
                await within(self._deadline, self.description, obstore.delete_async(self._store, key))
        except BlobMissing:
            return

    async def list(
        self, prefix: str = "", *, after: str = "", page_keys: int = PAGE_KEYS
    ) -> AsyncIterator[Sequence[Blob]]:
        checked_prefix(prefix)
        checked_prefix(after)
        with self._translated(prefix):
            pages = obstore.list(  # pyright: ignore[reportUnknownMemberType] (Arrow is not installed)
                self._store, prefix or None, offset=after or None, chunk_size=page_keys
            )
            async for page in each_within(self._deadline, self.description, pages):
                yield [_blob(meta) for meta in page]

    async def presign(self, key: str, seconds: int) -> str | None:
        checked_key(key)
        if self._signer is None:
            return None
        lifetime = timedelta(seconds=min(seconds, _LONGEST_PRESIGN_SECONDS))
        with self._translated(key):
            work = obstore.sign_async(self._signer, "GET", key, lifetime)
            return await within(self._deadline, self.description, work)

    async def check(self, *, write: bool = False) -> None:
        async for _ in self.list("checks", page_keys=1):
            break
        if write:
            await probe(self)

    async def aclose(self) -> None:
        """The library closes idle connections by itself."""

    async def _read(self, key: str) -> bytes:
        answer = await obstore.get_async(self._store, key)
        return bytes(await answer.bytes_async())

    @contextmanager
    def _translated(self, key: str) -> Generator[None]:
        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            raise translated(error, key, self.description) from error


def _blob(meta: "ObjectMeta") -> Blob:
    return Blob(meta["path"], meta["size"], meta["e_tag"] or "")


def _may_presign(bucket: Bucket) -> bool:
    return bool(bucket.public_endpoint) or not bucket.endpoint


def _open(bucket: Bucket, endpoint: str, deadline_seconds: float) -> S3Store:
    deadline = timedelta(seconds=deadline_seconds)
    options: S3Config = {"region": bucket.region, "disable_bulk_delete": True}  # Not every service deletes in bulk.
    options["virtual_hosted_style_request"] = not bucket.path_style
    if endpoint:
        options["endpoint"] = endpoint
    return S3Store(
        bucket.name,
        prefix=bucket.prefix or None,
        config=options,
        client_options={
            "allow_http": endpoint.startswith("http://"),
            "connect_timeout": min(deadline, timedelta(seconds=5)),
            "read_timeout": deadline,
            "timeout": _LONGEST_TRANSFER,
        },
        retry_config={"max_retries": _RETRIES, "retry_timeout": deadline},
        credential_provider=_provider(bucket.credentials),
    )


def _provider(credentials: Credentials | None) -> "Callable[[], S3Credential] | None":
    """A provider rather than settings: AWS_SESSION_TOKEN in the environment must not join the key pair of a URL."""
    if credentials is None:
        return None

    def provide() -> "S3Credential":
        return {
            "access_key_id": credentials.access_key,
            "secret_access_key": credentials.secret_key,
            "token": credentials.session_token,
            "expires_at": None,
        }

    return provide
