"""The actions that this machine already has: trees named by their digest, and which commit of what each of them is.

Jobs of several processes use one shelf at the same time, and any of them may be killed at any moment. So a tree is
filled in a folder of its own and then renamed; whoever needs one copies it and computes the digest of the copy, so
that what was damaged, or changed by a job of the same user, is found, thrown away and fetched again. Which lock is
held while fetching is decided by the repository: two jobs never fetch the same thing at once.
"""

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ostler.actions.errors import UnsafeTree
from ostler.actions.tree import PREFIX, copy_tree
from ostler.domain.machine import Refused


class Known(NamedTuple):
    """What a name stood for when it was last asked for."""

    commit: str
    digest: str


class Shelf:
    """A folder of trees. All methods may be called from several processes at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, fill: Callable[[Path], str | Refused]) -> str | Refused:
        """Let ``fill`` write a tree and return its digest; keep it under that. A refusal leaves nothing behind."""
        unfinished = self._unfinished()
        try:
            digest = fill(unfinished)
            if isinstance(digest, Refused):
                return digest
            place = self._place(digest)
            place.parent.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):  # somebody else was faster with the same
                unfinished.rename(place)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        return digest

    def take(self, digest: str, into: Path) -> bool:
        """Copy a tree to a place that does not exist yet, if it is here and is what its name says."""
        place = self._place(digest)
        if not place.is_dir():
            return False
        into.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=into.parent))
        try:
            unfinished.chmod(0o755)
            if not self._copied(place, unfinished, digest):
                self._discard(place)
                return False
            with suppress(OSError):  # its time only says when it was last of use
                os.utime(place)
            unfinished.rename(into)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        return True

    def has(self, digest: str) -> bool:
        """Return whether a tree seems to be here."""
        return self._place(digest).is_dir()

    def recall(self, *name: str) -> Known | None:
        """Return what was remembered under a name."""
        try:
            commit, digest = json.loads(self._note(name).read_bytes())
        except (OSError, ValueError):
            return None
        return Known(str(commit), str(digest))

    def remember(self, known: Known, *name: str) -> None:
        """Remember what a name stands for now."""
        note = self._note(name)
        note.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=note.parent, prefix=".unfinished-", delete=False) as file:
            json.dump(known, file)
        Path(file.name).replace(note)

    @contextmanager
    def fetching(self, name: str) -> Generator[None]:
        """Hold the lock of one repository; it ends with its holder, however that ends."""
        folder = self._folder / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(
            folder / sha256(name.lower().encode()).hexdigest()[:32], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def prune(self, keep_bytes: int, unused_before: float) -> list[str]:
        """Delete trees last used before a time, in seconds since 1970, then the oldest until the rest is small enough.

        Return the digests. Whoever copies one at this moment finds it incomplete and fetches it again.
        """
        trees = sorted((place.stat().st_mtime, place) for place in (self._folder / "trees").glob("*") if place.is_dir())
        sizes = {place: _size(place) for _, place in trees}
        left = sum(sizes.values())
        gone: list[str] = []
        for used, place in trees:
            if used >= unused_before and left <= keep_bytes:
                break
            left -= sizes[place]
            self._discard(place)
            gone.append(PREFIX + place.name)
        for unfinished in (self._folder / "unfinished").glob("*"):
            if unfinished.stat().st_mtime < unused_before:
                shutil.rmtree(unfinished, ignore_errors=True)
        return gone

    def _copied(self, place: Path, into: Path, digest: str) -> bool:
        try:
            return copy_tree(place, into) == digest
        except (OSError, UnsafeTree):
            return False

    def _discard(self, place: Path) -> None:
        """Take a tree away at once, then delete it."""
        grave = self._unfinished()
        with suppress(OSError):
            place.rename(grave / "tree")
        shutil.rmtree(grave, ignore_errors=True)

    def _unfinished(self) -> Path:
        folder = self._folder / "unfinished"
        folder.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder))
        made.chmod(0o755)
        return made

    def _place(self, digest: str) -> Path:
        name = digest.removeprefix(PREFIX)
        if len(name) != 64 or not set(name) <= set("0123456789abcdef"):
            name = "none"
        return self._folder / "trees" / name

    def _note(self, name: tuple[str, ...]) -> Path:
        return self._folder / "known" / sha256("\0".join(name).encode("utf-8", "surrogateescape")).hexdigest()


def _size(folder: Path) -> int:
    return sum(Path(above, name).lstat().st_size for above, _, names in os.walk(folder) for name in names)
