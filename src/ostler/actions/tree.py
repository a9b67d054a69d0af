"""Writing a tree of files that somebody else made, and the digest that names it.

A tree is regular files, programs and links, without what git adds. Nothing in it may reach beyond it: paths are checked
by their parts, every file is created anew, and links, which must end inside, are made last, so that no path of the
tree can lead through one. The digest is SHA-256 over one line for each entry, sorted by path:
``<mode> <sha256 of the content or of the link's target> <path>``, with git's modes 100644, 100755 and 120000.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ostler.actions.errors import UnsafeTree

FILE, PROGRAM, LINK = "100644", "100755", "120000"
PREFIX = "sha256:"
_CHUNK = 1 << 20
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Limits(NamedTuple):
    """What a tree may hold."""

    total_bytes: int = 2 << 30
    entries: int = 200_000


class TreeWriter:
    """Fills an empty folder. ``finish`` makes the links and returns the digest."""

    def __init__(self, root: Path, limits: Limits = Limits()) -> None:  # noqa: B008 - an immutable value
        self._root = root
        self._limits = limits
        self._lines: dict[str, str] = {}
        self._links: dict[str, str] = {}
        self._folders = {""}
        self._bytes = 0

    def add(self, path: str, chunks: Iterable[bytes], *, program: bool = False) -> None:
        """Write a file."""
        self._enter(path)
        digest = sha256()
        descriptor = os.open(self._root / path, _CREATE, 0o755 if program else 0o644)
        try:
            for chunk in chunks:
                self._bytes += len(chunk)
                if self._bytes > self._limits.total_bytes:
                    raise UnsafeTree(f"it holds more than {self._limits.total_bytes} bytes")
                digest.update(chunk)
                _write(descriptor, chunk)
        finally:
            os.close(descriptor)
        self._lines[path] = f"{PROGRAM if program else FILE} {digest.hexdigest()} {path}\n"

    def link(self, path: str, target: str) -> None:
        """Remember a link for the end."""
        self._enter(path)
        if not stays_inside(path, target):
            raise UnsafeTree(f"the link {path!r} leads out of it, to {target!r}")
        self._links[path] = target
        self._lines[path] = f"{LINK} {sha256(target.encode('utf-8', 'surrogateescape')).hexdigest()} {path}\n"

    def finish(self) -> str:
        """Make the links and return the digest of all."""
        for path, target in self._links.items():
            (self._root / path).symlink_to(target)
        whole = sha256()
        for _, line in sorted((os.fsencode(path), line) for path, line in self._lines.items()):
            whole.update(line.encode("utf-8", "surrogateescape"))
        return PREFIX + whole.hexdigest()

    def _enter(self, path: str) -> None:
        """Check a path and make the folders above it."""
        check_path(path)
        if len(self._lines) >= self._limits.entries:
            raise UnsafeTree(f"it holds more than {self._limits.entries} entries")
        above = path.rpartition("/")[0]
        if path in self._lines or path in self._folders:
            raise UnsafeTree(f"{path!r} is there twice")
        while above not in self._folders:
            if above in self._lines:
                raise UnsafeTree(f"{above!r} is a file and a folder")
            self._folders.add(above)
            above = above.rpartition("/")[0]
        (self._root / path).parent.mkdir(parents=True, exist_ok=True)


def copy_tree(source: Path, target: Path, limits: Limits = Limits()) -> str:  # noqa: B008 - an immutable value
    """Copy a tree into an empty folder, without a ``.git`` at its top, and return the digest of what was copied."""
    writer = TreeWriter(target, limits)
    _copy(source, "", writer)
    return writer.finish()


def _copy(folder: Path, prefix: str, writer: TreeWriter) -> None:
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        path = prefix + entry.name
        if path == ".git":
            continue
        if entry.is_symlink():
            writer.link(path, str(Path(entry.path).readlink()))
        elif entry.is_dir(follow_symlinks=False):
            _copy(Path(entry.path), f"{path}/", writer)
        else:
            _copy_file(entry.path, path, writer)


def _copy_file(source: str, path: str, writer: TreeWriter) -> None:
    descriptor = os.open(source, _READ)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnsafeTree(f"{path!r} is neither file nor folder nor link")
        writer.add(path, _chunks(descriptor), program=bool(status.st_mode & 0o100))
    finally:
        os.close(descriptor)


def _chunks(descriptor: int) -> Iterator[bytes]:
    while chunk := os.read(descriptor, _CHUNK):
        yield chunk


def _write(descriptor: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(descriptor, view) :]


def check_path(path: str) -> None:
    """Raise ``UnsafeTree`` for a path that could lead out of its tree or into what git obeys."""
    parts = path.split("/")
    if not path or "\0" in path or len(path) > 4096:
        raise UnsafeTree(f"{path[:200]!r} is no path")
    if any(part in ("", ".", "..") for part in parts):
        raise UnsafeTree(f"{path[:200]!r} leads out of it")
    if any(part.casefold() == ".git" for part in parts):
        raise UnsafeTree(f"{path[:200]!r} would be obeyed by git")


def stays_inside(path: str, target: str) -> bool:
    """Return whether a link at a path of a tree points into the tree, judged by its text alone."""
    if not target or target.startswith("/") or "\0" in target:
        return False
    depth = path.count("/")
    for part in target.split("/"):
        if part == "..":
            depth -= 1
        elif part not in ("", "."):
            depth += 1
        if depth < 0:
            return False
    return True
