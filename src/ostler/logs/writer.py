"""Turns masked output into frames, keeping the log's position.

Why it never looks at a line: output arrives in chunks of up to 1 MiB and a loop over lines costs twenty times what
everything else does together. A chunk gets one time and one step, newlines are counted by C, and compression happens
once per frame. When a frame is due is the caller's decision (it owns the clock), except that a full one leaves at once.
"""

from __future__ import annotations

from ostler.logs.compression import Compressor
from ostler.logs.frame import RUN_LIMIT, TEXT_LIMIT, encode, join_runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ostler.logs.frame import Frame, Run

FRAME_TEXT = 256 << 10
LIVE_LEVEL = 1
RUN_RESOLUTION_MICROS = 1000
"""Lines of one step that begin within this time of each other share the earlier time."""

_LONG_AGO = (-(1 << 60), 0)


class LogWriter:
    """The writer of one log, from its beginning or `after` its last frame (which `frame.scan` finds)."""

    __slots__ = (
        "_chunks",
        "_compressor",
        "_first_line",
        "_frame_text",
        "_in_mid_line",
        "_offset",
        "_pending",
        "_runs",
        "_stamp",
    )

    def __init__(self, *, after: Frame | None = None, frame_text: int = FRAME_TEXT, level: int = LIVE_LEVEL) -> None:
        if not 0 < frame_text <= TEXT_LIMIT:
            raise ValueError(f"a frame holds 1..{TEXT_LIMIT} bytes of text, not {frame_text}")
        self._frame_text = frame_text
        self._compressor = Compressor(level)
        self._offset = after.header.next_offset if after else 0
        self._first_line = after.header.next_line if after else 1
        self._in_mid_line = after is not None and after.header.ends_in_mid_line
        self._stamp: tuple[int, int] = after.runs[-1][1:] if after else _LONG_AGO
        self._runs: list[Run] = self._open_run()
        self._chunks: list[bytes] = []
        self._pending = 0

    @property
    def offset(self) -> int:
        """The text offset after everything that was written, framed or not."""
        return self._offset + self._pending

    @property
    def pending(self) -> int:
        """Bytes that wait for the next flush."""
        return self._pending

    @property
    def in_mid_line(self) -> bool:
        """Whether the last byte that was written did not end its line."""
        return not self._chunks[-1].endswith(b"\n") if self._chunks else self._in_mid_line

    def write(self, data: bytes, time_micros: int, step: int) -> bytes:
        """Take output; give back the frames that became full, often none."""
        room = self._frame_text - self._pending
        if len(data) < room and len(self._runs) < RUN_LIMIT:
            self._take(data, time_micros, step)
            return b""
        frames: list[bytes] = []
        start = 0
        while len(data) - start >= room:
            self._take(data[start : start + room], time_micros, step)
            frames.append(self.flush())
            start += room
            room = self._frame_text
        if len(self._runs) >= RUN_LIMIT:
            frames.append(self.flush())
        self._take(data[start:], time_micros, step)
        return b"".join(frames)

    def end_line(self, time_micros: int, step: int) -> bytes:
        """End a line that was left open, so that two steps never share one."""
        return self.write(b"\n", time_micros, step) if self.in_mid_line else b""

    def flush(self) -> bytes:
        """The frame of everything that waits, or nothing."""
        if not self._chunks:
            return b""
        text = b"".join(self._chunks)
        frame = encode(
            text,
            self._runs,
            first_offset=self._offset,
            first_line=self._first_line,
            begins_in_mid_line=self._in_mid_line,
            compressor=self._compressor,
        )
        self._in_mid_line = not text.endswith(b"\n")
        self._first_line += sum(run[0] for run in self._runs) - self._in_mid_line
        self._offset += len(text)
        self._runs = self._open_run()
        self._chunks = []
        self._pending = 0
        return frame

    def _open_run(self) -> list[Run]:
        """The run of the line that the next frame continues, if it continues one."""
        return [(1, *self._stamp)] if self._in_mid_line else []

    def _take(self, data: bytes, time_micros: int, step: int) -> None:
        if not data:
            return
        begun = data.count(b"\n") + (not data.endswith(b"\n")) - self.in_mid_line
        self._chunks.append(data)
        self._pending += len(data)
        if not begun:
            return
        time, last_step = self._stamp
        if last_step != step or not 0 <= time_micros - time < RUN_RESOLUTION_MICROS:
            self._stamp = (time_micros, step)
        join_runs(self._runs, [(begun, *self._stamp)], in_mid_line=False)
