"""What the S3 library's errors mean in our words.

The library has a class for some conditions and only a text for the rest, which quotes the service's answer. The answer
may repeat the key id and what was signed; nothing but its code and message goes into ours.
"""

import re

from obstore.exceptions import AlreadyExistsError, PermissionDeniedError, PreconditionError, UnauthenticatedError

from ostler.blobs.errors import (
    BlobExists,
    BlobMissing,
    BlobStoreDenied,
    BlobStoreFull,
    BlobStoreUnavailable,
)

_CODE = re.compile(r"<Code>([^<]*)</Code>")
_MESSAGE = re.compile(r"<Message>([^<]*)</Message>")
_STATUS = re.compile(r"status code: (\d{3})")
_FULL = {"QuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "StorageFull"}


class BeyondEnd(Exception):
    """A range starts behind the last byte of its blob: no error in our contract."""


def translated(error: Exception, key: str, where: str) -> Exception:
    """The error of our own to raise instead."""
    text = str(error).partition("Debug source")[0]
    code, status = _first(_CODE, text), _first(_STATUS, text)
    if isinstance(error, AlreadyExistsError | PreconditionError):
        return BlobExists(key)
    if code == "NoSuchBucket":
        return BlobStoreUnavailable(f"The bucket of {where} does not exist.", "Create it, or correct the URL.")
    if isinstance(error, FileNotFoundError):
        return BlobMissing(key)
    if status == "416":
        return BeyondEnd()
    if isinstance(error, PermissionDeniedError | UnauthenticatedError) or status in {"401", "403"}:
        return BlobStoreDenied(
            f"{where} refused access ({code or status or 'no reason given'}).",
            "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the clock of this host, and that the key's policy "
            "allows get, put, delete and list in the bucket.",
        )
    if status == "507" or code in _FULL:
        return BlobStoreFull(f"{where} has no room left.", "Raise its quota, or shorten the retention of runs.")
    return BlobStoreUnavailable(
        f"{where} failed: {_summary(text, code)}.",
        "Check the endpoint in the URL and that the service is up; Ostler tries again.",
    )


def _summary(text: str, code: str) -> str:
    if code:
        return f"{code}: {_first(_MESSAGE, text)}"
    return " ".join(text.split())[:300].rstrip(". ")


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group(1) if match else ""
