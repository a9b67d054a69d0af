"""Waiting for a file of a repository to change: times and sizes are compared, which works with every editor."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_SKIPPED: Final = {".git", "node_modules", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
_OWN: Final = {".ostler/runs", ".ostler/artifacts", ".ostler/.gitignore"}
"""What runs write themselves."""
_LOOK_SECONDS: Final = 0.5
_QUIET_SECONDS: Final = 0.2

State = dict[str, tuple[int, int]]


async def until_changed(root: Path, before: State) -> str:
    """Return the name of a file that changed since a state, when nothing has changed for a moment after it."""
    while True:
        now = await asyncio.to_thread(state_of, root)
        changed = _difference(before, now)
        if changed:
            await _settled(root, now)
            return changed
        await asyncio.sleep(_LOOK_SECONDS)


async def _settled(root: Path, state: State) -> None:
    """Wait until whoever writes has written everything."""
    while True:
        await asyncio.sleep(_QUIET_SECONDS)
        now = await asyncio.to_thread(state_of, root)
        if now == state:
            return
        state = now


def state_of(root: Path) -> State:
    """Return time and size of every file."""
    return dict(_files(str(root), ""))


def _difference(before: State, now: State) -> str:
    return next((name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)), "")


def _files(folder: str, prefix: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield each file with its time and size; what cannot be read does not change."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        name = prefix + entry.name
        if entry.name in _SKIPPED or name in _OWN:
            continue
        try:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, f"{name}/")
            else:
                found = entry.stat(follow_symlinks=False)
                yield name, (found.st_mtime_ns, found.st_size)
        except OSError:
            continue
