"""Where a run on this machine keeps things: logs and artifacts beside the workflow, caches with the person's others."""

import os
import re
import shutil
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

_IGNORED: Final = "# Made by `ostler run`; nothing in these folders belongs into the repository.\n/artifacts/\n/runs/\n"
_RUNS_KEPT: Final = 20


class Folders(NamedTuple):
    """The folders of one run."""

    home: Path
    """``.ostler`` of the repository, or a folder of the person's where that cannot be written."""
    run: Path
    """Logs of this run."""
    cache: Path
    """What later runs find again: actions, caches, tools."""


def make_folders(root: Path, run_id: str, cache: Path) -> Folders:
    """Make the folders of a run; old runs are removed."""
    home = root / ".ostler"
    try:
        (home / "runs").mkdir(parents=True, exist_ok=True)
        if not (home / ".gitignore").exists():
            (home / ".gitignore").write_text(_IGNORED, encoding="utf-8")
        writable = os.access(home / "runs", os.W_OK)
    except OSError:
        writable = False
    if not writable:
        home = cache / "local"
        (home / "runs").mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in sorted(path for path in (home / "runs").iterdir() if path.is_dir())[: -(_RUNS_KEPT - 1)]:
        shutil.rmtree(old, ignore_errors=True)
    run = home / "runs" / run_id
    run.mkdir(mode=0o700)
    return Folders(home=home, run=run, cache=cache)


class _Note(msgspec.Struct, frozen=True):
    """What the built-in actions note of an artifact."""

    name: str
    run: str


def artifacts(home: Path, run: str) -> dict[str, str]:
    """Return the folders of the artifacts that a run made, by their names."""
    notes = [msgspec.json.decode(path.read_bytes(), type=_Note) for path in (home / "artifacts/.index").glob("*.json")]
    return {name: str(home / "artifacts" / name) for name in sorted(note.name for note in notes if note.run == run)}


def log_file(run: Path, node: str) -> Path:
    """Return the file for the log of a job."""
    return run / (re.sub(r"[^A-Za-z0-9_.-]+", "_", node).strip("_") + ".log")
