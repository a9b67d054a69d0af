"""A log as plain text, streamed; with timestamps each line begins with its time in UTC."""

from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, datetime

from ostler.logs.frame import Frame


async def raw_text(frames: AsyncIterator[Frame], *, timestamps: bool) -> AsyncGenerator[bytes]:
    """Yield the text of the frames, byte for byte, or with a time before each line."""
    async for frame in frames:
        yield _stamped(frame) if timestamps else frame.text


def _stamped(frame: Frame) -> bytes:
    lines = frame.text.split(b"\n")
    ended = not frame.header.ends_in_mid_line
    if ended:
        lines.pop()
    stamps: list[bytes] = []
    for count, micros, _ in frame.runs:
        stamps += [_stamp(micros)] * count
    if frame.header.begins_in_mid_line:
        stamps[0] = b""
    text = b"\n".join(stamp + line for stamp, line in zip(stamps, lines, strict=False))
    return text + b"\n" if ended else text


def _stamp(micros: int) -> bytes:
    moment = datetime.fromtimestamp(micros / 1_000_000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.").encode() + f"{micros % 1_000_000:06d}Z ".encode()
