"""What can go wrong with stored blobs, told the same way whichever store is behind it.

Each class is one stable `code`. An instance says what happened (`cause`) and what the operator or caller can do about
it (`fix`); callers choose by class, people read the text, and no credential is ever in either.
"""

from typing import ClassVar


class BlobError(Exception):
    """Anything that kept a blob from being stored, read, listed or deleted."""

    code: ClassVar[str] = "blob_error"

    def __init__(self, cause: str, fix: str) -> None:
        super().__init__(f"{cause} {fix}")
        self.cause = cause
        self.fix = fix


class BlobMissing(BlobError):
    """There is no blob under this key: it was never stored, or its retention ended."""

    code = "blob_missing"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"There is no blob {key!r}.", "It expired, or the store is not the one it was written to: check --blobs."
        )


class BlobExists(BlobError):
    """A conditional put found the key taken; the stored blob is unchanged."""

    code = "blob_exists"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"The blob {key!r} already exists.", "Read it, or store under another key; nothing was changed."
        )


class BlobTooLarge(BlobError):
    """A stream brought more bytes than its cap; nothing was stored under the key."""

    code = "blob_too_large"

    def __init__(self, key: str, at_most: int) -> None:
        super().__init__(
            f"The content for {key!r} is larger than the {at_most} bytes allowed.",
            "Send less, or raise the limit for this kind of content.",
        )


class InvalidKey(BlobError):
    """The key or prefix is not one that every store treats alike."""

    code = "invalid_blob_key"

    def __init__(self, key: str, rule: str) -> None:
        super().__init__(
            f"The blob key {key[:80]!r} {rule}.", "Build keys from ids and numbers, never from user input."
        )


class InvalidBlobsUrl(BlobError):
    """The URL of the blob store cannot be understood."""

    code = "invalid_blobs_url"

    def __init__(self, cause: str) -> None:
        super().__init__(
            cause,
            "Use file:///absolute/folder or s3://bucket/prefix?endpoint=https://host&region=name&path_style=true.",
        )


class BlobStoreUnavailable(BlobError):
    """The store did not answer, not in time, or not sensibly; a write may or may not have happened."""

    code = "blob_store_unavailable"


class BlobStoreDenied(BlobError):
    """The store refused our credentials or our rights; trying again will not help."""

    code = "blob_store_denied"


class BlobStoreFull(BlobError):
    """The store has no room left; nothing was stored under the key."""

    code = "blob_store_full"


class BlobStoreUnfit(BlobError):
    """The store answers but does not keep a promise that Ostler relies on."""

    code = "blob_store_unfit"
