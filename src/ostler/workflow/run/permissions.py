"""What the token of a job may do: every scope named, so that two of them can be compared."""

from typing import Final

from ostler.workflow.language.jobs import SCOPES_OF_PERMISSION
from ostler.workflow.run.effects import Permissions

_RANK: Final = {"none": 0, "read": 1, "write": 2}
_ALL: Final = {"read-all": "read", "write-all": "write"}


def permissions_of(written: dict[str, str] | str | None) -> Permissions:
    """Return the level of every scope: where some are named, the others are ``none``."""
    if written is None:
        return None
    if isinstance(written, str):
        wanted = _RANK.get(_ALL.get(written, "none"), 0)
        return {scope: _highest(levels, wanted) for scope, levels in SCOPES_OF_PERMISSION.items()}
    return {scope: written.get(scope, "none") for scope in SCOPES_OF_PERMISSION}


def exceeding(wanted: Permissions, allowed: Permissions) -> list[str]:
    """Return what is wanted beyond what is allowed, as ``scope: level``; nothing may be wanted where none is said."""
    if wanted is None or allowed is None:
        return []
    return [f"{scope}: {level}" for scope, level in wanted.items() if _RANK[level] > _RANK[allowed.get(scope, "none")]]


def _highest(levels: tuple[str, ...], most: int) -> str:
    """Return the highest level of a scope up to one; a scope that knows no ``read`` has ``none`` below ``write``."""
    return max((level for level in levels if _RANK[level] <= most), key=lambda level: _RANK[level])
