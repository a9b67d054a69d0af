"""A scenario: what someone types, and what must come of it. Each is a folder below ``scenarios`` with one file.

The file says what is submitted (``submit``: arguments of ``ostler job submit``; or ``spec``: a job of several steps),
and what is expected; what it does not mention is a success.
"""

from pathlib import Path
from typing import Any

import msgspec
import yaml

FOLDER = Path(__file__).parent / "scenarios"


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must come of it."""

    exit: int = 0
    state: str = "succeeded"
    cause: str = ""
    detail: str = ""
    evidence: str = ""
    log: str | None = None
    log_lines: int | None = None
    log_ends: str = ""
    name: str = ""
    steps: list[str] | None = None
    stderr: list[str] = []
    json: dict[str, Any] | None = None


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One scenario; ``about`` is why it exists."""

    about: str
    expected: Expected
    submit: list[str] = []
    spec: dict[str, Any] | None = None
    files: dict[str, str] = {}
    stdin: str = ""
    environment: dict[str, str] = {}


def names() -> list[str]:
    """Every scenario there is."""
    return sorted(path.parent.name for path in FOLDER.glob("*/scenario.yaml"))


def load(name: str) -> Scenario:
    """Read a scenario; a key that nothing reads is a mistake."""
    return msgspec.convert(yaml.safe_load((FOLDER / name / "scenario.yaml").read_text(encoding="utf-8")), Scenario)
