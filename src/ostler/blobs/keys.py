"""Which keys a blob may have: only those that a folder on any disk and every S3 service treat alike.

The alphabet is lower-case because some file systems fold case, and has no character that any URL, shell or file system
treats specially. Keys are made by Ostler from ids, digests and numbers; names that users chose belong in the database.
"""

import re

from ostler.blobs.errors import InvalidKey

LONGEST_KEY = 240
"""A key must fit in one file name (255 bytes nearly everywhere), with room for what a store adds."""

_SEGMENT = re.compile(r"[a-z0-9_=][a-z0-9_=.+-]*", re.ASCII)


def checked_key(key: str) -> str:
    """The key itself, or InvalidKey: segments of `a-z 0-9 _ = . + -` joined by `/`, none starting with `. + -`."""
    if not key:
        raise InvalidKey(key, "is empty")
    if len(key) > LONGEST_KEY:
        raise InvalidKey(key, f"is longer than {LONGEST_KEY} characters")
    for segment in key.split("/"):
        if _SEGMENT.fullmatch(segment) is None:
            raise InvalidKey(key, "has a segment that is empty or not made of a-z 0-9 _ = . + -, or starts with . + -")
    return key


def checked_prefix(prefix: str) -> str:
    """The prefix itself, or InvalidKey: whole segments, or nothing for every key there is."""
    return checked_key(prefix) if prefix else prefix


def is_under(key: str, prefix: str) -> bool:
    """Whether a key lies below a prefix: `logs/job_1` has `logs/job_1/0` below it, not `logs/job_10/0`."""
    return not prefix or key.startswith(prefix + "/")
