"""Nothing that a stranger prints is obeyed, and nothing of it is hidden."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, strategies as st

from ostler.logs.visible import for_page, for_record, plain, without_sequences

HOSTILE = st.lists(
    st.sampled_from(
        ["\x1b", "[", "]", "0;", "8;;", "31", "m", "K", "\x07", "\\", "P", "a", "\r", "\x00", "\u202e", "\x9b", "?25l"]
    ),
    max_size=20,
).map("".join)


@pytest.mark.parametrize(
    ("line", "page", "text"),
    [
        (b"plain text", "plain text", "plain text"),
        (b"tab\there", "tab\there", "tab\there"),
        (b"\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b[2J\x1b[1;1Hgone?\x1b[?25l", "gone?", "gone?"),
        (b"\x1b]0;title\x07x\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "xlink", "xlink"),
        (b"\x1bPq#0\x1b\\after", "after", "after"),
        (b"\x1b]0;never ended", "␛]0;never ended", "␛]0;never ended"),
        (b"\x1b(B\x1b[mreset", "\x1b[mreset", "reset"),
        (b"\x1b\x1b[K]0;x\x07", "␛]0;x␇", "␛]0;x␇"),
        (b" 10%\r 50%\r100%\r", "100%", "100%"),
        (b"windows\r", "windows", "windows"),
        (b"nul\x00 del\x7f", "nul␀ del␡", "nul␀ del␡"),
        ("\u202egnp.exe".encode(), "⟨U+202E⟩gnp.exe", "⟨U+202E⟩gnp.exe"),
        ("a\u2028b\u0085c".encode(), "a⟨U+2028⟩b⟨U+0085⟩c", "a⟨U+2028⟩b⟨U+0085⟩c"),
        (b"\xff\xfe", "\ufffd\ufffd", "\ufffd\ufffd"),
        ("ünïcödé 👩‍🚀".encode(), "ünïcödé 👩‍🚀", "ünïcödé 👩‍🚀"),
    ],
)
def test_lines(line: bytes, page: str, text: str) -> None:
    assert for_page(line) == page
    assert plain(line) == text


def test_a_record_is_one_line_and_shows_everything() -> None:
    assert for_record("ok\r\nrunner=evil\x1b[2K") == "ok␍␊runner=evil"


@given(text=HOSTILE | st.text(max_size=30))
def test_nothing_is_left_to_obey(text: str) -> None:
    for shown in (plain(text.encode("utf-8", "replace")), for_record(text)):
        for letter in shown:
            assert letter == "\t" or unicodedata.category(letter) != "Cc"
            assert unicodedata.bidirectional(letter) not in {"RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "PDI"}
    page = for_page(text.encode("utf-8", "replace"))
    assert "\x1b" not in re.sub(r"\x1b\[[0-9;:]*m", "", page)


@given(text=st.text("abc \t\u00e9", max_size=30))
def test_harmless_text_is_not_touched(text: str) -> None:
    assert for_page(text.encode()) == plain(text.encode()) == for_record(text) == text


def test_newlines_stay_when_sequences_go() -> None:
    assert without_sequences(b"\x1b[31ma\n\x1b]0;open\nb\x1b[0m\n") == b"a\n\x1b]0;open\nb\n"
