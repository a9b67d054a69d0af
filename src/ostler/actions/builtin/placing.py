"""Writing files that an archive names into a folder: never beyond it, never through a link, never without end."""

import os
from collections.abc import Iterable
from typing import NamedTuple

from ostler.actions.errors import UnsafeTree

_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_GIB = 1 << 30


class Caps(NamedTuple):
    """What an archive may become: small archives that unfold without end are made to fill disks."""

    entries: int = 2_000_000
    total_bytes: int = 256 * _GIB
    ratio: int = 1000
    """How many bytes one byte of the archive may become, once it became more than ``free_bytes``."""
    free_bytes: int = 2 * _GIB


class Placer:
    """Writes below roots. Everything is counted, and a path that is taken is replaced, not followed."""

    def __init__(self, roots: Iterable[str], archive_bytes: int, caps: Caps = Caps()) -> None:  # noqa: B008 - immutable
        self._roots = tuple(os.path.abspath(root) for root in roots)
        self._caps = caps
        self._limit = min(caps.total_bytes, max(caps.free_bytes, archive_bytes * caps.ratio))
        self._bytes = 0
        self._entries = 0
        self._folders: set[str] = set()

    def check(self, path: str) -> str:
        """Return an absolute path that is to be written, if it is one below the roots; count it."""
        self._entries += 1
        if self._entries > self._caps.entries:
            raise UnsafeTree(f"the archive holds more than {self._caps.entries} entries")
        if "\0" in path:
            raise UnsafeTree(f"the archive holds {path[:200]!r}, which is no path")
        whole = os.path.normpath(path)
        if not any(whole == root or whole.startswith(root.rstrip("/") + "/") for root in self._roots):
            raise UnsafeTree(f"the archive holds {path[:200]!r}, which leads out of where it belongs")
        return whole

    def folder(self, path: str) -> None:
        """Have a folder that is reached through no link below its root."""
        if path in self._folders:
            return
        root = next(root for root in self._roots if path == root or path.startswith(root.rstrip("/") + "/"))
        os.makedirs(root, exist_ok=True)
        above = root
        for part in os.path.relpath(path, root).split(os.sep):
            above = os.path.normpath(os.path.join(above, part))
            if above in self._folders or above == root:
                continue
            if os.path.islink(above):
                raise UnsafeTree(f"the archive would be written through the link {above!r}")
            if not os.path.isdir(above):
                os.mkdir(above)
            self._folders.add(above)
        self._folders.add(path)

    def file(self, path: str, chunks: Iterable[bytes], mode: int) -> None:
        """Write a file, in the place of what was there."""
        self.make_room(path)
        with os.fdopen(os.open(path, _FRESH, mode), "wb") as file:
            for chunk in chunks:
                self._bytes += len(chunk)
                if self._bytes > self._limit:
                    raise UnsafeTree(f"the archive becomes more than {self._limit} bytes")
                file.write(chunk)

    def link(self, path: str, target: str) -> None:
        """Make a link. To be done last, so that nothing is written through it."""
        self.make_room(path)
        os.symlink(target, path)

    def make_room(self, path: str) -> None:
        """Have the folder above a path, and nothing that would be in the way."""
        if path in self._roots:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        else:
            self.folder(os.path.dirname(path))
        if os.path.isdir(path) and not os.path.islink(path):
            raise UnsafeTree(f"the archive has a file where there is a folder: {path!r}")
        if os.path.lexists(path):
            os.unlink(path)
