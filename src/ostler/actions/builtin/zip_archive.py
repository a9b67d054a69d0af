"""Artifacts as zip archives: made from files, and unfolded without trusting them."""

import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping

from ostler.actions.builtin.placing import Caps, Placer
from ostler.actions.errors import UnsafeTree

_CHUNK = 1 << 20


def pack(files: Mapping[str, str], archive: str, level: int) -> None:
    """Write files into an archive, by their paths in it; links are followed."""
    method = zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED
    with zipfile.ZipFile(archive, "w", method, compresslevel=level or None, strict_timestamps=False) as packed:
        for name, path in files.items():
            entry = zipfile.ZipInfo.from_file(path, name, strict_timestamps=False)
            entry.compress_type = method
            entry.external_attr = 0o100644 << 16
            with open(path, "rb") as source, packed.open(entry, "w", force_zip64=entry.file_size > 1 << 31) as target:
                while chunk := source.read(_CHUNK):
                    target.write(chunk)


def unpack(archive: str, into: str, caps: Caps = Caps()) -> int:  # noqa: B008 - immutable
    """Write what an archive holds below a folder; return how many files. Raises ``UnsafeTree``."""
    placer = Placer([into], os.path.getsize(archive), caps)
    written = 0
    try:
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                name = _name(entry)
                path = placer.check(os.path.join(os.path.abspath(into), name))
                if entry.is_dir():
                    placer.folder(path)
                    continue
                placer.file(path, _chunks(packed, entry), 0o644)
                written += 1
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as reason:
        raise UnsafeTree(f"the archive cannot be read: {reason}") from reason
    return written


def _name(entry: zipfile.ZipInfo) -> str:
    """Return the path of an entry, if it is a file's or a folder's and stays inside."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise UnsafeTree(f"the archive holds {entry.filename[:200]!r}, which is neither file nor folder")
    if entry.filename.startswith(("/", "\\")) or ".." in entry.filename.replace("\\", "/").split("/"):
        raise UnsafeTree(f"the archive holds {entry.filename[:200]!r}, which leads out of where it belongs")
    return entry.filename


def _chunks(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    with packed.open(entry) as source:
        while chunk := source.read(_CHUNK):
            yield chunk
