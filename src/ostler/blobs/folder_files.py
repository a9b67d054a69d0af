"""How a folder of blobs lies on disk, and the few blocking file operations that make it atomic and durable.

    ROOT/blobs/xx/yy/KEY      the key with "," for "/"; xx/yy from the hash of the key's first two segments
    ROOT/incoming/*.part      being written; renamed or linked into place once it is on disk

The hash spreads blobs over 65,536 directories, so that none grows too large for the tools of an operator; hashing the
first two segments only (`logs/job_…`) keeps what belongs together in one directory, so that listing it is one read. A
key never becomes a directory, so two keys cannot stand in each other's way and nothing has to be cleaned up.

All functions here block: `folder.py` calls them in threads. They raise OSError, which it translates.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ostler.blobs.contract import Blob
from ostler.blobs.keys import is_under

_SEPARATOR = ","  # Not in the alphabet of keys.
_ABANDONED_SECONDS = 24 * 3600
_READ_ONLY = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


class FolderFiles:
    """The files of one folder of blobs; several processes may work in it at once."""

    __slots__ = ("_blobs", "_incoming", "root")

    def __init__(self, root: Path) -> None:
        self.root = root
        self._blobs = root / "blobs"
        self._incoming = root / "incoming"

    def prepare(self) -> None:
        """Make the folder if it is not there; what it holds may be secret, so it is ours alone."""
        for directory in (self._blobs, self._incoming):
            if not directory.is_dir():
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                _sync_directory(directory.parent)

    def begin(self) -> BinaryIO:
        """A new file for content that is on its way in; give it to `finish` or `abandon`."""
        self.prepare()
        descriptor, path = tempfile.mkstemp(suffix=".part", dir=self._incoming)
        os.close(descriptor)
        return Path(path).open("wb")

    def finish(self, incoming: BinaryIO, key: str, *, if_absent: bool) -> bool:
        """Put complete content in its place, durably; False if `if_absent` and the place is taken."""
        incoming.flush()
        os.fsync(incoming.fileno())
        incoming.close()
        place = self._place(key)
        self._make_directory(place.parent)
        if if_absent:
            try:
                os.link(incoming.name, place)
            except FileExistsError:
                return False
            finally:
                Path(incoming.name).unlink()
        else:
            Path(incoming.name).replace(place)
        _sync_directory(place.parent)
        return True

    def abandon(self, incoming: BinaryIO) -> None:
        """Forget content that will not be completed."""
        incoming.close()
        Path(incoming.name).unlink(missing_ok=True)

    def open(self, key: str) -> BinaryIO:
        """The blob, for reading; FileNotFoundError if there is none."""
        return os.fdopen(os.open(self._place(key), _READ_ONLY), "rb", buffering=0)

    def head(self, key: str) -> Blob:
        """Size and etag of the blob; FileNotFoundError if there is none."""
        return _blob(key, self._place(key).lstat())

    def delete(self, key: str) -> None:
        """Remove the blob, durably, if it is there."""
        place = self._place(key)
        with suppress(FileNotFoundError):
            place.unlink()
            _sync_directory(place.parent)

    def list(self, prefix: str, after: str) -> Iterator[Blob]:
        """The blobs below a prefix and beyond a key, in order; those deleted meanwhile are left out."""
        directories = [self._directory(prefix)] if "/" in prefix else self._directories()
        keys = sorted(
            key for directory in directories for key in _keys_in(directory) if key > after and is_under(key, prefix)
        )
        for key in keys:
            with suppress(FileNotFoundError):
                yield self.head(key)

    def remove_abandoned(self) -> None:
        """Remove what processes that died long ago left half-written, by the file system's own clock."""
        with tempfile.NamedTemporaryFile(dir=self._incoming, suffix=".now") as probe:
            now = os.fstat(probe.fileno()).st_mtime
            for entry in os.scandir(self._incoming):
                with suppress(FileNotFoundError):
                    if now - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED_SECONDS:
                        Path(entry.path).unlink()

    def _place(self, key: str) -> Path:
        return self._directory(key) / key.replace("/", _SEPARATOR)

    def _directory(self, key: str) -> Path:
        group = "/".join(key.split("/", 2)[:2])
        digest = hashlib.sha256(group.encode()).hexdigest()
        return self._blobs / digest[:2] / digest[2:4]

    def _directories(self) -> Iterator[Path]:
        for outer in _entries(self._blobs):
            yield from _entries(outer)

    def _make_directory(self, directory: Path) -> None:
        if directory.is_dir():
            return
        for level in (directory.parent, directory):  # `parents=True` would not give the mode to the outer one.
            level.mkdir(mode=0o700, exist_ok=True)
            _sync_directory(level.parent)


def _blob(key: str, status: os.stat_result) -> Blob:
    return Blob(key, status.st_size, f"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}")


def _entries(directory: Path) -> list[Path]:
    try:
        with os.scandir(directory) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def _keys_in(directory: Path) -> list[str]:
    try:
        return [name.replace(_SEPARATOR, "/") for name in os.listdir(directory)]  # noqa: PTH208 (names are what we want)
    except FileNotFoundError:
        return []


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
