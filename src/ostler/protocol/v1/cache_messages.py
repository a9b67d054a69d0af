"""The messages about caches, for the jobs that fill and read them and for people's clients.

An entry belongs to a repository and to the ref whose run made it. It is never changed; a run reads those of its own
ref, of the branch that it would be merged into, and of the default branch. What a run that is not trusted makes is read
by no run that is.
"""

from typing import Annotated

import msgspec

from ostler.protocol.v1.spec import Count

CacheKey = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
"""No comma may be in it."""
CacheVersion = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
"""What else must be the same, such as the paths and the way of compression: compared as a whole."""


class FindCacheRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """For each of the keys in their order: the entry of exactly that key, else the newest whose key begins with it."""

    key: CacheKey
    version: CacheVersion
    restore_keys: Annotated[list[CacheKey], msgspec.Meta(max_length=9)] = []


class CacheHit(msgspec.Struct, frozen=True, omit_defaults=True):
    """The entry that was found."""

    id: str
    key: str
    size: Count
    digest: str
    created_at: int


class FindCacheReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """Nothing if there is no such entry."""

    hit: CacheHit | None = None


class ReserveCacheRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Begin an entry. A job that asks again for what it has begun itself gets the same entry."""

    key: CacheKey
    version: CacheVersion


class CacheView(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry as people see it."""

    id: str
    number: Count
    repository: str
    ref: str
    key: str
    version: str
    size: Count
    digest: str
    created_at: int
    used_at: int
    trusted: bool = True


class CachesQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which entries: of a repository by its name or id, and with keys that begin so."""

    repository: str = ""
    key: str = ""
    cursor: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 50


class CachesReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """Entries, the newest first, and how many bytes all those that were asked for take."""

    caches: list[CacheView] = []
    total_bytes: Count = 0
    next_cursor: str = ""


class PruneCachesRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Delete entries: those not used for so long, then the least recently used ones beyond so many bytes a repository.

    With neither, the server's own rules are applied at once.
    """

    repository: str = ""
    unused_ms: Count | None = None
    keep_bytes: Count | None = None


class PruneCachesReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was deleted."""

    entries: Count
    bytes: Count
