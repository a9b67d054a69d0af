"""How much jobs may keep, and for how long: artifacts of runs and caches of repositories."""

from enum import StrEnum
from typing import Final

import msgspec

_GIB: Final = 1 << 30
DAY_MICROS: Final = 86_400_000_000


class UploadState(StrEnum):
    """How far something that is kept has come; nothing ever goes back."""

    UPLOADING = "uploading"
    READY = "ready"
    GONE = "gone"


class StorageRules(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation allows. Runs without a repository share what one repository may keep."""

    artifact_days: int = 90
    """How long an artifact is kept whose job does not say."""
    longest_artifact_days: int = 400
    artifact_bytes: int = 10 * _GIB
    """Of one artifact."""
    artifacts_bytes: int = 50 * _GIB
    """Of all artifacts of a repository."""
    artifacts_of_a_run: int = 1000
    caches_bytes: int = 10 * _GIB
    """Of all cache entries of a repository, and so of one; beyond it the least recently used ones go."""
    cache_days: int = 7
    """How long an entry is kept that nobody reads."""

    def artifact_expiry(self, days: int | None, now: int) -> int:
        """Return until when an artifact is kept."""
        return now + min(days or self.artifact_days, self.longest_artifact_days) * DAY_MICROS
