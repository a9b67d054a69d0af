"""Logs for the tests of this folder: what was written, and the frames that came of it."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from ostler.logs.writer import LogWriter


class Written(NamedTuple):
    """One call of the writer, followed by a flush or not."""

    data: bytes
    time_micros: int
    step: int
    flush: bool


class Expected(NamedTuple):
    """A line as it must come back."""

    text: bytes
    time_micros: int
    step: int
    ended: bool


WRITES = st.lists(
    st.builds(
        Written,
        st.lists(st.sampled_from([b"\n", b"a", b"bc", b"\x00\xff", b"line\n"]), max_size=6).map(b"".join),
        st.sampled_from([0, 1, 999_999, 1_000_000, 5_000_000, 1 << 51]),
        st.sampled_from([0, 1, -1]),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


def frames_of(writes: list[Written], frame_text: int = 7) -> bytes:
    writer = LogWriter(frame_text=frame_text)
    frames = b""
    for written in writes:
        frames += writer.write(written.data, written.time_micros, written.step)
        if written.flush:
            frames += writer.flush()
    return frames + writer.flush()


def text_of(writes: list[Written]) -> bytes:
    return b"".join(written.data for written in writes)


def many_frames(lines: int, frame_text: int = 64 << 10) -> tuple[bytes, bytes]:
    """(text, frames) of numbered lines, each chunk of a thousand lines with a time of its own."""
    writer = LogWriter(frame_text=frame_text)
    text, frames = b"", b""
    for start in range(1, lines + 1, 1000):
        chunk = b"".join(b"line %07d of the log\n" % number for number in range(start, min(start + 1000, lines + 1)))
        text += chunk
        frames += writer.write(chunk, start * 1_000_000, start % 7)
    return text, frames + writer.flush()
