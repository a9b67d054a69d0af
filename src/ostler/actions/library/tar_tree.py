"""Actions as tar archives, plain or compressed: what the server stores and what servers of git offer for download."""

import gzip
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ostler.actions.errors import UnsafeTree
from ostler.actions.tree import Limits, TreeWriter

_CHUNK = 1 << 20
_TOP = "action"
_RATIO, _FREE_BYTES = 200, 256 << 20


def unpack(archive: Path, into: Path) -> str:
    """Write the files of an archive into an empty folder and return their digest; raises ``UnsafeTree``.

    If all of them lie in one folder, as in archives that servers make of a repository, that folder is left out.
    """
    size = archive.stat().st_size
    limits = Limits(total_bytes=min(Limits().total_bytes, max(_FREE_BYTES, size * _RATIO)))
    try:
        with tarfile.open(archive, "r:*") as packed:
            entries = [entry for entry in packed if not entry.isdir()]
            if len(entries) > limits.entries:
                raise UnsafeTree(f"it holds more than {limits.entries} entries")
            prefix = _common_folder(entries)
            writer = TreeWriter(into, limits)
            for entry in entries:
                _add(packed, entry, entry.name.removeprefix("./")[len(prefix) :], writer)
            return writer.finish()
    except (tarfile.TarError, EOFError, OSError, ValueError, zlib.error) as reason:
        raise UnsafeTree(f"the archive cannot be read: {reason}") from reason


def _common_folder(entries: list[tarfile.TarInfo]) -> str:
    names = [entry.name.removeprefix("./") for entry in entries]
    first = names[0].partition("/")[0] + "/" if names else ""
    return first if first and all(name.startswith(first) for name in names) else ""


def _add(packed: tarfile.TarFile, entry: tarfile.TarInfo, path: str, writer: TreeWriter) -> None:
    if entry.issym():
        writer.link(path, entry.linkname)
        return
    source = packed.extractfile(entry) if entry.isreg() else None
    if source is None:
        raise UnsafeTree(f"{path[:200]!r} is neither file nor folder nor link")
    writer.add(path, _chunks(source), program=bool(entry.mode & 0o100))


def _chunks(source: IO[bytes]) -> Iterator[bytes]:
    while chunk := source.read(_CHUNK):
        yield chunk


def pack(folder: Path, archive: Path) -> None:
    """Write a tree, in one folder, into an archive that is the same whenever it is made of the same files."""
    # The header of gzip holds the time unless it is told another one.
    with (
        open(archive, "wb") as file,
        gzip.GzipFile("", "wb", 6, file, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as packed,
    ):
        for above, folders, names in os.walk(folder):
            folders.sort()
            links = [name for name in folders if os.path.islink(os.path.join(above, name))]
            for name in sorted([*names, *links]):
                path = os.path.join(above, name)
                entry = packed.gettarinfo(path, os.path.join(_TOP, os.path.relpath(path, folder)))
                entry.uid = entry.gid = 0
                entry.uname = entry.gname = ""
                entry.mtime = 0
                entry.mode = 0o755 if entry.mode & 0o100 else 0o644
                if entry.isreg():
                    with open(path, "rb") as content:
                        packed.addfile(entry, content)
                else:
                    packed.addfile(entry)
