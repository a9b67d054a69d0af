"""The agent's door to its own disk: the journal, the outbox and the identity live behind it.

The simulator implements the same protocol with torn writes, lost caches and a full disk, which is how the agent's
claims about surviving them are tested. Log spools are not here: they belong to the supervisors, which outlive the
agent.
"""

import contextlib
import os
from pathlib import Path
from typing import Protocol


class Disk(Protocol):
    """Durable files under one directory. Paths are relative, with ``/``; parents are made when needed."""

    def append(self, path: str, data: bytes, *, sync: bool) -> None:
        """Add to the end of a file; with ``sync`` the bytes survive a crash once this returns."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Replace a file whole and durably: after a crash it holds the old bytes or the new, never a mixture."""
        ...

    def read(self, path: str) -> bytes:
        """Return the file's bytes; raise ``FileNotFoundError`` if there is none."""
        ...

    def remove(self, path: str) -> None:
        """Delete a file if it exists."""
        ...

    def names(self, directory: str) -> list[str]:
        """Return the names of the files in a directory, sorted; none if the directory is missing."""
        ...

    def free_bytes(self) -> int:
        """Return how many bytes an unprivileged writer could still add."""
        ...


class LocalDisk:
    """The real disk, below ``root``."""

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def append(self, path: str, data: bytes, *, sync: bool) -> None:
        """See ``Disk.append``. The first synced append of a file also makes its name durable."""
        target = self._prepare(path)
        fresh = not target.exists()
        descriptor = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _write_all(descriptor, data)
            if sync:
                os.fdatasync(descriptor) if hasattr(os, "fdatasync") else os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if sync and fresh:
            _sync_directory(target.parent)

    def write(self, path: str, data: bytes) -> None:
        """See ``Disk.write``."""
        target = self._prepare(path)
        temporary = target.with_name(f".{target.name}.new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(target)
        _sync_directory(target.parent)

    def read(self, path: str) -> bytes:
        """See ``Disk.read``."""
        return (self._root / path).read_bytes()

    def remove(self, path: str) -> None:
        """See ``Disk.remove``."""
        with contextlib.suppress(FileNotFoundError):
            (self._root / path).unlink()

    def names(self, directory: str) -> list[str]:
        """See ``Disk.names``. Half-written replacements are not files yet."""
        try:
            return sorted(entry.name for entry in os.scandir(self._root / directory) if not entry.name.startswith("."))
        except FileNotFoundError:
            return []

    def free_bytes(self) -> int:
        """See ``Disk.free_bytes``."""
        status = os.statvfs(self._root)
        return status.f_bavail * status.f_frsize

    def _prepare(self, path: str) -> Path:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return target


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
