"""A step's output on its way to the log: commands are understood and taken out, problems are noticed.

Throughput decides the form of this: most output holds no command at all, so a chunk is searched for the two marks and
passes whole if there is none. Only lines that may be commands are looked at one by one, and all lines only while a
problem matcher is on. Output without a newline leaves at once unless it may become a command.
"""

import re
from typing import Final, Protocol

LONGEST_LINE: Final = 64 << 10
_NEXT: Final = re.compile(rb"\n[ \t\r\f\v]*::")
_FIRST: Final = re.compile(rb"[ \t\r\f\v]*::")
_OLD: Final = b"##["


class Listener(Protocol):
    """Whoever understands the lines."""

    @property
    def every_line(self) -> bool:
        """Whether all lines must be looked at now."""
        ...

    def text(self, data: bytes) -> None:
        """Take output that is nothing else."""
        ...

    def line(self, data: bytes) -> None:
        """Take one whole line that may be more than output, with its newline if it has one."""
        ...


class Output:
    """The output of one command. ``whole_lines`` holds back unfinished lines, for steps that run beside others."""

    def __init__(self, listener: Listener, *, whole_lines: bool = False) -> None:
        self._listener = listener
        self._whole_lines = whole_lines
        self._held = b""
        self._in_mid_line = False

    def feed(self, data: bytes) -> None:
        """Take what the command wrote."""
        if self._held:
            data, self._held = self._held + data, b""
        if self._in_mid_line:
            end = data.find(b"\n") + 1
            self._text(data[:end] if end else data)
            data = data[end:] if end else b""
        end = data.rfind(b"\n") + 1
        if end:
            self._lines(data[:end])
            data = data[end:]
        if data:
            self._hold(data)

    def finish(self) -> None:
        """Take what was held back as a line."""
        data, self._held = self._held, b""
        if data:
            self._listener.line(data)
        self._in_mid_line = False

    def _hold(self, data: bytes) -> None:
        """Keep the beginning of a line only if it matters what it becomes."""
        begins = data.lstrip()
        matters = self._whole_lines or self._listener.every_line
        matters = matters or not begins or begins.startswith(b":") or _OLD in data or data.endswith((b"#", b"##"))
        if matters and len(data) < LONGEST_LINE:
            self._held = data
        else:
            self._text(data)

    def _lines(self, data: bytes) -> None:
        """Take whole lines."""
        position = 0
        while position < len(data):
            if self._listener.every_line:
                start = position
            else:
                start = _candidate(data, position)
                if start < 0:
                    break
            if start > position:
                self._text(data[position:start])
            position = data.index(b"\n", start) + 1
            self._listener.line(data[start:position])
        if position < len(data):
            self._text(data[position:] if position else data)

    def _text(self, data: bytes) -> None:
        self._in_mid_line = not data.endswith(b"\n")
        self._listener.text(data)


def _candidate(data: bytes, position: int) -> int:
    """Return where the next line begins that may be a command; -1 if there is none."""
    old = data.find(_OLD, position)
    if old >= 0:
        old = data.rfind(b"\n", position, old) + 1 or position
    if _FIRST.match(data, position):
        new = position
    else:
        found = _NEXT.search(data, position)
        new = found.start() + 1 if found else -1
    return min(old, new) if old >= 0 and new >= 0 else max(old, new)
