"""Small workflows and actions written from the documentation, sorted by what is to be said of them.

``valid`` and ``actions`` have nothing wrong, ``suspicious`` have a mistake that GitHub lets pass, ``invalid`` are
refused.
"""

from pathlib import Path
from typing import Final, Literal, NamedTuple

_FOLDER: Final = Path(__file__).parent
_SCENARIOS: Final = _FOLDER.parents[1] / "e2e/workflows"

Kind = Literal["workflow", "action"]


class Sample(NamedTuple):
    """One file."""

    name: str
    kind: Kind
    content: str

    @property
    def folder(self) -> str:
        """Return what is to be said of it."""
        return self.name.partition("/")[0]


def samples() -> list[Sample]:
    """Return every file of the corpus."""
    return [
        Sample(f"{folder}/{path.name}", "action" if folder == "actions" else "workflow", path.read_text("utf-8"))
        for folder in ("valid", "actions", "suspicious", "invalid")
        for path in sorted((_FOLDER / folder).glob("*.yml"))
    ]


def scenarios() -> list[Sample]:
    """Return the workflows of the end-to-end scenarios."""
    found = (*_SCENARIOS.rglob("*.yml"), *_SCENARIOS.rglob("*.yaml"))
    return [
        Sample(path.relative_to(_SCENARIOS).as_posix(), "workflow", path.read_text("utf-8"))
        for path in sorted(found)
        if path.name == "workflow.yml" or path.parent.name == "workflows"
    ]
