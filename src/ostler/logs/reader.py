"""Lines, with their numbers, times and steps, from frames.

Why it takes frames and not files: where they lie (a spool, rows, a blob) is its caller's knowledge; `index` tells the
caller which of them to fetch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ostler.logs.frame import Frame, decode_all

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_LINE = 1 << 20
"""More of a line than this is not given back: a log without a newline must not become one string."""


class Line(NamedTuple):
    """A line without its newline, or as much of it as there is."""

    number: int
    text: bytes
    time_micros: int
    step: int
    begun: bool
    """False if the line began before the frames that were read."""
    ended: bool
    """False if its newline has not come yet."""
    cut: int
    """How many bytes of the line were left out because it is too long."""


def read_lines(frames: bytes, first: int, count: int, longest_line: int = LONGEST_LINE) -> list[Line]:
    """The lines `first` to `first + count - 1`, as far as they are in these frames."""
    return lines_of(decode_all(frames), first, count, longest_line)


def lines_of(frames: Iterable[Frame], first: int, count: int, longest_line: int = LONGEST_LINE) -> list[Line]:
    """The same for frames that are decoded already; they must follow each other."""
    lines: list[Line] = []
    for frame in frames:
        if frame.header.first_line >= first + count:
            break
        fresh = _lines_of_frame(frame, first, first + count, longest_line)
        if lines and fresh and lines[-1].number == fresh[0].number:
            lines[-1] = continued(lines[-1], fresh.pop(0), longest_line)
        lines += fresh
    return lines


def lines_from_offset(frame: Frame, offset: int) -> list[Line]:
    """The lines of one frame from a text offset on: what a follower that has everything before it still needs."""
    lines = _lines_of_frame(frame, 1, frame.header.next_line + 1, LONGEST_LINE)
    skip = offset - frame.header.first_offset
    if skip <= 0:
        return lines
    if skip >= len(frame.text):
        return []
    passed = frame.text.count(b"\n", 0, skip)
    lines = lines[passed:]
    into = skip - (frame.text.rfind(b"\n", 0, skip) + 1)
    if lines and into:
        lines[0] = lines[0]._replace(text=lines[0].text[into:], begun=False)
    return lines


def _lines_of_frame(frame: Frame, first: int, end: int, longest_line: int) -> list[Line]:
    header = frame.header
    texts = frame.text.split(b"\n")
    if not header.ends_in_mid_line:
        del texts[-1]
    lines: list[Line] = []
    run_first = header.first_line
    last = header.first_line + header.lines - 1
    for run_count, time, step in frame.runs:
        for number in range(max(run_first, first), min(run_first + run_count, end)):
            text = texts[number - header.first_line]
            begun = number > header.first_line or not header.begins_in_mid_line
            ended = number < last or not header.ends_in_mid_line
            lines.append(Line(number, text[:longest_line], time, step, begun, ended, max(0, len(text) - longest_line)))
        run_first += run_count
    return lines


def continued(line: Line, more: Line, longest_line: int) -> Line:
    """Return a line with what the next frame holds of it."""
    room = 0 if line.cut else longest_line - len(line.text)
    return line._replace(
        text=line.text + more.text[:room],
        ended=more.ended,
        cut=line.cut + more.cut + max(0, len(more.text) - room),
    )
