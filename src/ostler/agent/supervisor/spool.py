"""The log of one attempt on its way from the pipe to the disk: masked, capped, stamped, framed, appended.

Text leaves in frames: the first output after a pause at once, so that a follower sees it; then at most one frame in
``FLUSH_MS``, so that a chatty job does not pay for a frame a line. A frame is on disk whole or not at all.
"""

from __future__ import annotations

import os

from ostler.agent.supervisor.clock import now_micros, now_ms
from ostler.agent.supervisor.directory import DiskFull, write_all
from ostler.logs.caps import LogCap
from ostler.logs.masker import Masker
from ostler.logs.writer import LogWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ostler.agent.supervisor.directory import Directory

FLUSH_MS = 20
_TAIL_BYTES = 256 << 10
_FRAME_BYTES = 128 << 10
"""Larger ones are no faster, and a flooding job's supervisor holds several copies of one."""


class Spool:
    """The spool file and everything before it."""

    __slots__ = (
        "_cap",
        "_descriptor",
        "_flushed_at",
        "_lost",
        "_masker",
        "_open_line",
        "_secrets",
        "_writer",
        "length",
        "lines",
    )

    def __init__(self, directory: Directory, secrets: list[str], limit: int) -> None:
        self._descriptor: int = directory.create("spool", os.O_APPEND | os.O_TRUNC)
        self._writer: LogWriter = LogWriter(frame_text=_FRAME_BYTES)
        tail = min(_TAIL_BYTES, limit // 4)
        self._cap: LogCap | None = LogCap(limit - tail, tail) if limit else None
        self._open_line: bool = False
        self._secrets: list[str] = secrets
        self._masker: Masker = Masker(secret.encode() for secret in secrets)
        self._flushed_at: int = 0
        self._lost: bytes = b""
        self.length: int = 0
        self.lines: int = 0

    @property
    def deadline(self) -> int | None:
        """When waiting text must be flushed."""
        return self._flushed_at + FLUSH_MS if self._writer.pending else None

    def write(self, data: bytes, step: int) -> None:
        """Take output of a step."""
        self._take(self._masker.feed(data), step)

    def end_step(self, step: int) -> None:
        """Let go of what was held back in case it became a secret, and end its line: no two steps share one."""
        self._take(self._masker.finish(), step)
        if self._open_line:
            self._take(b"\n", step)

    def note(self, text: str, step: int) -> None:
        """Add a line of the supervisor's own."""
        self.end_step(step)
        self.write(f"ostler: {text}\n".encode("utf-8", "replace"), step)
        self.end_step(step)

    def masked(self, text: str) -> str:
        """Return a sentence as it may be shown."""
        masker = Masker(secret.encode() for secret in self._secrets)
        return (masker.feed(text.encode("utf-8", "replace")) + masker.finish()).decode("utf-8", "replace")

    def flush_if_due(self, now: int) -> None:
        """Store what waits, if it has waited long enough."""
        if self._writer.pending and now - self._flushed_at >= FLUSH_MS:
            self.flush()

    def flush(self) -> None:
        """Store what waits."""
        self._store(self._writer.flush())
        self._flushed_at = now_ms()

    def close(self, step: int) -> None:
        """Store the rest; on a full disk the log just ends where it ends."""
        try:
            for chunk in self._cap.finish(now_micros(), step) if self._cap else ():
                self._write(*chunk)
            self.flush()
        except DiskFull:
            pass
        os.close(self._descriptor)

    def _take(self, data: bytes, step: int) -> None:
        if not data:
            return
        self._open_line = not data.endswith(b"\n")
        time = now_micros()
        self._write(self._cap.feed(data, time, step) if self._cap else data, time, step)

    def _write(self, data: bytes, time: int, step: int) -> None:
        self.lines += data.count(b"\n")
        self._store(self._writer.write(data, time, step))

    def _store(self, frames: bytes) -> None:
        frames = self._lost + frames
        if frames:
            self._lost = frames
            write_all(self._descriptor, frames)
            self._lost = b""
        self.length = self._writer.offset - self._writer.pending
