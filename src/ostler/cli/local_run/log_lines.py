"""Whole lines from the frames of a growing log, each with the step that wrote it."""

from ostler.agent.supervision import Supervisor
from ostler.logs.frame import decode_all
from ostler.logs.reader import LONGEST_LINE, Line, continued, lines_from_offset

_AT_ONCE = 1 << 20


class LogLines:
    """Reads one log from its start on."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._offset = 0
        self._open: Line | None = None

    def fresh(self, *, last: bool = False) -> list[Line]:
        """Return the lines that ended since the last call; the very last one may lack its newline."""
        lines: list[Line] = []
        while frames := self._supervisor.log_frames(self._offset, _AT_ONCE):
            for frame in decode_all(frames):
                found = lines_from_offset(frame, self._offset)
                self._offset = frame.header.next_offset
                if self._open is not None and found and found[0].number == self._open.number:
                    found[0] = continued(self._open, found[0], LONGEST_LINE)
                elif self._open is not None:
                    lines.append(self._open)
                self._open = found.pop() if found and not found[-1].ended else None
                lines += found
        if last and self._open is not None:
            lines.append(self._open)
            self._open = None
        return lines
