"""The pool: where jobs may run. Its status is derived from its runners and never stored."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from ostler.domain.machine import Refused
from ostler.domain.runner import RunnerStatus

HOSTED_POOL: Final = "hosted"
"""The name of the built-in first pool (rule 3)."""

_SHORTEST, _LONGEST = 3, 64
_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class PoolStatus(StrEnum):
    """Rule 14. ``healthy`` is also called active."""

    INACTIVE = "inactive"
    HEALTHY = "healthy"
    OFFLINE = "offline"
    DISABLED = "disabled"


def status(runners: Iterable[RunnerStatus], *, ever_live: bool, disabled: bool) -> PoolStatus:
    """Derive a pool's status from the statuses of its runners."""
    if disabled:
        return PoolStatus.DISABLED
    if any(runner not in (RunnerStatus.OFFLINE, RunnerStatus.RETIRED) for runner in runners):
        return PoolStatus.HEALTHY
    return PoolStatus.OFFLINE if ever_live else PoolStatus.INACTIVE


def checked_name(name: str) -> str | Refused:
    """Return the name if rule 21 allows it, or why not."""
    if not _SHORTEST <= len(name) <= _LONGEST:
        return Refused("name_length", f"a name has {_SHORTEST} to {_LONGEST} characters, this one has {len(name)}")
    foreign = sorted(set(name) - _ALLOWED)
    if foreign:
        shown = " ".join(repr(character) for character in foreign[:5])
        return Refused("name_characters", f"a name holds letters, digits, hyphen and underscore, not {shown}")
    return name
