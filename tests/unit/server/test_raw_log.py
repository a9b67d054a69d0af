"""A log as text."""

import asyncio
from collections.abc import AsyncIterator

from ostler.logs.frame import Frame, decode_all
from ostler.logs.writer import LogWriter
from ostler.server.log_followers import Place
from ostler.server.raw_log import raw_text


async def _frames(*texts: bytes) -> AsyncIterator[Frame]:
    writer = LogWriter()
    for place, text in enumerate(texts):
        for frame in decode_all(writer.write(text, place * 1_000_000, 1) + writer.flush()):
            yield frame


def _text(*texts: bytes, timestamps: bool) -> bytes:
    async def whole() -> bytes:
        return b"".join([part async for part in raw_text(_frames(*texts), timestamps=timestamps)])

    return asyncio.run(whole())


def test_text_comes_back_byte_for_byte() -> None:
    assert _text(b"a\n\n", b"b", b"c\nd", timestamps=False) == b"a\n\nbc\nd"


def test_every_line_has_the_time_at_which_it_began() -> None:
    stamped = _text(b"a\n\n", b"b", b"c\nd", timestamps=True)
    assert stamped == (
        b"1970-01-01T00:00:00.000000Z a\n1970-01-01T00:00:00.000000Z \n"
        b"1970-01-01T00:00:01.000000Z bc\n1970-01-01T00:00:02.000000Z d"
    )


def test_a_place_is_two_plain_counts() -> None:
    assert Place.parse("2.17") == Place(2, 17)
    for text in ("", "2", "2.", ".17", "2.17.1", "-2.17", "2.x", "²." + "1", "1." + "9" * 400):
        assert Place.parse(text) is None
