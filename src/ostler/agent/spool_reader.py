"""Reading the log spool that a supervisor is still writing: whole frames from a text offset, in order or again.

Reading goes on where it stopped; only a reader that was restarted pays for finding its place, by skipping from header
to header. A frame that is not wholly there yet does not exist.
"""

import contextlib
import os
from pathlib import Path

from ostler.logs.errors import FrameDamaged
from ostler.logs.frame import HEADER_LENGTH, FrameHeader, read_header


class SpoolReader:
    """One spool file; it need not exist yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self._read_to = (0, 0)
        self._known_to = (0, 0)

    def length(self) -> int:
        """Return how many bytes of text are in whole frames."""
        text, position = self._known_to
        size = self._size()
        while (header := self._header(position, size)) is not None:
            text, position = header.next_offset, position + header.frame_length
        self._known_to = (text, position)
        return text

    def frames(self, offset: int, limit: int) -> bytes:
        """Return whole frames from a frame's start on: at least one if there is any, else about ``limit`` bytes."""
        start = self._locate(offset)
        if start is None:
            return b""
        text, position, size = offset, start, self._size()
        while (header := self._header(position, size)) is not None:
            if position > start and position + header.frame_length - start > limit:
                break
            text, position = header.next_offset, position + header.frame_length
        self._read_to = (text, position)
        return os.pread(self._descriptor, position - start, start) if position > start else b""

    def close(self) -> None:
        """Release the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _locate(self, offset: int) -> int | None:
        """Return where in the file the frame begins whose text begins at this offset."""
        text, position = max(known for known in (self._read_to, self._known_to, (0, 0)) if known[0] <= offset)
        size = self._size()
        while text < offset:
            header = self._header(position, size)
            if header is None or header.next_offset > offset:
                return None
            text, position = header.next_offset, position + header.frame_length
        return position

    def _header(self, position: int, size: int) -> FrameHeader | None:
        if position + HEADER_LENGTH > size:
            return None
        with contextlib.suppress(FrameDamaged):
            header = read_header(os.pread(self._descriptor, HEADER_LENGTH, position))
            return header if position + header.frame_length <= size else None
        return None

    def _size(self) -> int:
        if self._descriptor < 0:
            with contextlib.suppress(FileNotFoundError):
                self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        return os.fstat(self._descriptor).st_size if self._descriptor >= 0 else 0
