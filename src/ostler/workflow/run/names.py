"""The names of jobs, as people see them."""

from collections.abc import Sequence
from typing import Final

LONGEST: Final = 100
_ELLIPSIS: Final = "..."


def cell_name(name: str, segments: Sequence[str]) -> str:
    """Return the name of one job of a matrix: with its own values, unless they are in the name already."""
    filled = [segment for segment in segments if segment]
    return cut(f"{name} ({', '.join(filled)})" if filled else name)


def called_name(caller: str, name: str) -> str:
    """Return the name of a job within a called workflow."""
    return f"{caller} / {name}" if caller else name


def cut(name: str) -> str:
    """Return a name that is not too long to be shown."""
    return name if len(name) <= LONGEST else name[: LONGEST - len(_ELLIPSIS)] + _ELLIPSIS
