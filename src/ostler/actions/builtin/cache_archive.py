"""Caches as tar archives, compressed by zstd: paths are relative to the workspace, also those outside it.

Whoever restores one says which paths it may write, and nothing else is written. Links are made after everything else,
whatever they point to: a cache of a virtual environment is full of links to the system's programs.
"""

import os
import stat
import sys
import tarfile
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import IO

from ostler.actions.builtin.placing import Caps, Placer
from ostler.actions.errors import UnsafeTree

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_CHUNK = 1 << 20
_COMPRESSION = "zstd-without-long"
"""What the published action calls this way of compression."""
_FORM = "1.0"
_LARGEST_WINDOW_LOG = 27
_LEVEL = 3


def version(paths: Sequence[str]) -> str:
    """Return what must be the same for an entry to be restored: the paths as written and the form of the archive."""
    return sha256("|".join((*paths, _COMPRESSION, _FORM)).encode("utf-8", "surrogateescape")).hexdigest()


def pack(paths: Sequence[str], workspace: str, archive: str) -> None:
    """Write files and whole folders into an archive; what vanishes meanwhile is left out."""
    with zstd.ZstdFile(archive, "wb", level=_LEVEL) as compressed:
        opened = tarfile.open(fileobj=compressed, mode="w|", format=tarfile.PAX_FORMAT, bufsize=_CHUNK)  # noqa: SIM115 - closed below
        with opened as packed:
            for path in paths:
                _add(packed, path, os.path.relpath(path, workspace))


def _add(packed: tarfile.TarFile, path: str, name: str) -> None:
    stack = [(path, name)]
    while stack:
        path, name = stack.pop()
        try:
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                continue
            entry = packed.gettarinfo(path, name)
        except FileNotFoundError:
            continue
        # gettarinfo shortens absolute names only; ours lead upwards from the workspace.
        entry.name = name
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        if entry.isreg():
            with open(path, "rb") as file:
                packed.addfile(entry, file)
            continue
        if entry.islnk() or entry.issym() or entry.isdir():
            packed.addfile(entry)
        if entry.isdir():
            stack += [
                (os.path.join(path, child), f"{name}/{child}") for child in sorted(os.listdir(path), reverse=True)
            ]


def unpack(archive: str, workspace: str, roots: Sequence[str], caps: Caps = Caps()) -> int:  # noqa: B008 - immutable
    """Write what an archive holds, if it lies below the roots; return how many entries. Raises ``UnsafeTree``."""
    placer = Placer(roots, os.path.getsize(archive), caps)
    try:
        with _reading(archive) as packed:
            return _Restorer(placer, workspace).restore(packed)
    except (tarfile.TarError, zstd.ZstdError, EOFError, ValueError) as reason:
        raise UnsafeTree(f"the archive cannot be read: {reason}") from reason


def _reading(archive: str) -> tarfile.TarFile:
    limits: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW_LOG}
    return tarfile.open(fileobj=zstd.ZstdFile(archive, "rb", options=limits), mode="r|", bufsize=_CHUNK)


class _Restorer:
    """Writes one archive."""

    def __init__(self, placer: Placer, workspace: str) -> None:
        self._placer = placer
        self._workspace = os.path.abspath(workspace)
        self._written: set[str] = set()
        self._links: list[tuple[str, str]] = []
        self._folders: list[tuple[str, tarfile.TarInfo]] = []

    def restore(self, packed: tarfile.TarFile) -> int:
        count = 0
        for entry in packed:
            count += 1
            path = self._placer.check(os.path.join(self._workspace, entry.name))
            if entry.isdir():
                self._placer.folder(path)
                self._folders.append((path, entry))
            elif entry.issym():
                self._links.append((path, entry.linkname))
            elif entry.islnk():
                self._hard_link(path, entry)
            elif entry.isreg():
                self._file(path, entry, packed)
            else:
                raise UnsafeTree(f"the archive holds {entry.name[:200]!r}, which is neither file nor folder nor link")
        for path, target in self._links:
            self._placer.link(path, target)
        for path, entry in reversed(self._folders):
            os.chmod(path, entry.mode & 0o777 | 0o700)
            os.utime(path, (entry.mtime, entry.mtime))
        return count

    def _file(self, path: str, entry: tarfile.TarInfo, packed: tarfile.TarFile) -> None:
        source = packed.extractfile(entry)
        if source is None:
            raise UnsafeTree(f"the archive holds {entry.name[:200]!r} without its content")
        self._placer.file(path, _chunks(source), stat.S_IMODE(entry.mode) & 0o777)
        os.chmod(path, entry.mode & 0o777)
        os.utime(path, (entry.mtime, entry.mtime))
        self._written.add(path)

    def _hard_link(self, path: str, entry: tarfile.TarInfo) -> None:
        """Make another name of a file, if this archive has written it."""
        target = os.path.normpath(os.path.join(self._workspace, entry.linkname))
        if target not in self._written:
            raise UnsafeTree(f"the archive holds {entry.name[:200]!r}, another name of what is not in it")
        self._placer.make_room(path)
        os.link(target, path, follow_symlinks=False)
        self._written.add(path)


def _chunks(source: IO[bytes]) -> Iterator[bytes]:
    while chunk := source.read(_CHUNK):
        yield chunk
