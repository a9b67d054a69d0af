"""Bounds a log to its beginning and its end, whatever a job prints.

Why both: the beginning says what was run and the end says why it failed; `yes` in between says nothing. The beginning
leaves at once; the end is kept in memory until the output is over. Output that fits leaves unchanged.
"""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    Chunk = tuple[bytes, int, int]
    """(output, time in microseconds, step)"""

_SMALL = 1024
"""Smaller chunks of the end join their forerunner's time: a chunk of one byte would cost a hundred of bookkeeping."""


class LogCap:
    """The cap of one log."""

    __slots__ = (
        "_head_ends_in_mid_line",
        "_head_left",
        "_kept",
        "_tail",
        "_tail_bytes",
        "dropped_bytes",
        "dropped_lines",
    )

    def __init__(self, head_bytes: int, tail_bytes: int) -> None:
        self._head_left = head_bytes
        self._head_ends_in_mid_line = False
        self._tail_bytes = tail_bytes
        self._tail: deque[Chunk] = deque()
        self._kept = 0
        self.dropped_bytes: int = 0
        self.dropped_lines: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the beginning is complete: from now on nothing leaves until the end."""
        return bool(self._tail)

    def feed(self, data: bytes, time_micros: int, step: int) -> bytes:
        """What of the output may be written now."""
        if not self._tail and len(data) <= self._head_left:
            self._head_left -= len(data)
            if data:
                self._head_ends_in_mid_line = not data.endswith(b"\n")
            return data
        head = b""
        if not self._tail:
            head = data[: data.rfind(b"\n", 0, self._head_left) + 1 or self._head_left]
            if head:
                self._head_ends_in_mid_line = not head.endswith(b"\n")
            self._head_left = 0
        self._keep(data[len(head) :], time_micros, step)
        return head

    def finish(self, time_micros: int, step: int) -> list[Chunk]:
        """The end of the output, after a line that says what is missing, if anything is."""
        excess = self._kept - self._tail_bytes
        if excess > 0:
            self._trim(excess)
        chunks: list[Chunk] = []
        if self.dropped_bytes:
            opening = b"\n" if self._head_ends_in_mid_line else b""
            notice = f"[{self.dropped_bytes} bytes, {self.dropped_lines} lines of output are missing here: log limit]\n"
            chunks.append((opening + notice.encode(), time_micros, step))
        chunks += self._tail
        self._tail.clear()
        self._kept = 0
        return chunks

    def _keep(self, data: bytes, time_micros: int, step: int) -> None:
        if not data:
            return
        if self._tail and self._tail[-1][2] == step and len(self._tail[-1][0]) < _SMALL:
            last, time, _ = self._tail.pop()
            self._tail.append((last + data, time, step))
        else:
            self._tail.append((data, time_micros, step))
        self._kept += len(data)
        # One more chunk than fits stays, because the last bytes of what is dropped show where a line begins.
        while self._kept - len(self._tail[0][0]) > self._tail_bytes:
            self._drop(len(self._tail[0][0]))

    def _drop(self, length: int) -> None:
        data, time, step = self._tail.popleft()
        self.dropped_bytes += length
        self.dropped_lines += data.count(b"\n", 0, length)
        self._kept -= length
        if length < len(data):
            self._tail.appendleft((data[length:], time, step))

    def _trim(self, excess: int) -> None:
        """Drop from the kept end until it fits and begins with a line, if a line begins in it."""
        begins_a_line = False
        while excess > 0 and self._tail:
            data = self._tail[0][0]
            length = min(excess, len(data))
            begins_a_line = data[length - 1 : length] == b"\n"
            self._drop(length)
            excess -= length
        if begins_a_line or not any(b"\n" in chunk[0] for chunk in self._tail):
            return
        while b"\n" not in self._tail[0][0]:
            self._drop(len(self._tail[0][0]))
        self._drop(self._tail[0][0].index(b"\n") + 1)
