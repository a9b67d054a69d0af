"""Scripts, styles and fonts, served from memory.

They live under a path that is named after the content of all of them (``/static/3f2a…/page.js``), so a browser keeps
them for ever and never asks again, and a module's own imports stay under that path without a bundler. The plain path
(``/static/page.js``) works as well and is checked by its tag.
"""

import gzip
import hashlib
from pathlib import Path
from typing import Final, NamedTuple

from ostler.server.pages.exchange import Plain

PREFIX: Final = "/static/"

_FOLDER = Path(__file__).parents[1] / "static"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
_COMPRESSED = frozenset({".css", ".js", ".svg"})
_FOREVER = b"public, max-age=31536000, immutable"


class _File(NamedTuple):
    body: bytes
    media_type: str
    tag: bytes
    compressible: bool


class StaticFiles:
    """See the module."""

    def __init__(self, folder: Path = _FOLDER) -> None:
        self._files: dict[str, _File] = {}
        self._compressed: dict[str, bytes] = {}
        everything = hashlib.sha256()
        for path in sorted(folder.rglob("*")):
            media_type = _TYPES.get(path.suffix)
            if media_type is None:
                continue
            name, body = path.relative_to(folder).as_posix(), path.read_bytes()
            digest = hashlib.sha256(body).hexdigest()
            everything.update(f"{name} {digest}\n".encode())
            self._files[name] = _File(body, media_type, f'"{digest[:32]}"'.encode(), path.suffix in _COMPRESSED)
        self._version = everything.hexdigest()[:16]

    @property
    def base(self) -> str:
        """Where templates find the files."""
        return f"{PREFIX}{self._version}"

    def answer(self, path: str, headers: dict[str, str]) -> Plain | None:
        """Return a file; nothing if there is none at the path."""
        name = path.removeprefix(PREFIX)
        versioned = name.removeprefix(f"{self._version}/")
        file = self._files.get(versioned)
        if file is None:
            return None
        kept = (b"cache-control", _FOREVER if versioned != name else b"no-cache")
        tag = (b"etag", file.tag)
        if file.tag in headers.get("if-none-match", "").encode():
            return Plain(b"", file.media_type, 304, (kept, tag))
        if file.compressible and "gzip" in headers.get("accept-encoding", ""):
            packed = self._compressed.get(versioned)
            if packed is None:
                packed = self._compressed[versioned] = gzip.compress(file.body, mtime=0)
            encoding = ((b"content-encoding", b"gzip"), (b"vary", b"accept-encoding"))
            return Plain(packed, file.media_type, 200, (kept, tag, *encoding))
        return Plain(file.body, file.media_type, 200, (kept, tag))
