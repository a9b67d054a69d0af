"""What was asked for on the command line, as one value, so that a test can ask without a command line."""

from pathlib import Path
from typing import Literal

import msgspec

Isolation = Literal["process", "sandbox", "docker"]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One ``ostler run``."""

    directory: Path
    """Where the command was typed."""
    path: Path | None = None
    """The file or folder that was named."""
    event: str = ""
    event_path: Path | None = None
    ref: str = ""
    jobs: tuple[str, ...] = ()
    """The jobs to run with what they need; all where none is named."""
    inputs: dict[str, str] = {}
    variables: dict[str, str] = {}
    secrets: dict[str, str] = {}
    env: dict[str, str] = {}
    matrix: dict[str, tuple[str, ...]] = {}
    """The cells to run: for each named vector, its value is one of these."""
    isolation: Isolation = "process"
    parallel: int = 0
    """Jobs at a time; 0 stands for as many as there are processors."""
    strict_labels: bool = False
    debug: bool = False
    mirrors: tuple[str, ...] = ()
