"""Searching blocks must find what searching each line would."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ostler.logs.frame import decode_all
from ostler.logs.search import LONGEST_HIT, Hit, Search, search
from ostler.logs.writer import LogWriter
from tests.unit.logs.made_logs import many_frames

TEXT = st.lists(st.sampled_from([b"a", b"A", b"ab", b"\n", b" ", b"x"]), max_size=60).map(b"".join)


def hits(text: bytes, query: str, frame_text: int = 5, *, match_case: bool = False) -> list[Hit]:
    writer = LogWriter(frame_text=frame_text)
    frames = writer.write(text, 1, 1) + writer.flush()
    return list(search(decode_all(frames), query, match_case=match_case))


def one_by_one(text: str, query: str) -> list[Hit]:
    found: list[Hit] = []
    for number, line in enumerate(text.split("\n"), 1):
        spans: list[tuple[int, int]] = []
        place = line.find(query)
        while place >= 0:
            spans.append((place, place + len(query)))
            place = line.find(query, place + len(query))
        if spans:
            found.append(Hit(number, line, tuple(spans)))
    return found


@given(text=TEXT, query=st.sampled_from(["a", "ab", "aa", "A", "x a", "q"]), frame_text=st.integers(1, 40))
def test_blocks_find_what_lines_would(text: bytes, query: str, frame_text: int) -> None:
    assert hits(text, query, frame_text, match_case=True) == one_by_one(text.decode(), query)
    folded = [(hit.line, hit.spans) for hit in hits(text, query, frame_text)]
    assert folded == [(hit.line, hit.spans) for hit in one_by_one(text.decode().lower(), query.lower())]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("größe GRÖßE groesse", "größe", ((0, 5), (6, 11))),
        ("STRASSE straße", "straße", ((0, 7), (8, 14))),
        ("Ελλάδα ΕΛΛΆΔΑ", "ελλάδα", ((0, 6), (7, 13))),
        ("日本語の本", "本", ((1, 2), (4, 5))),
    ],
)
def test_other_letters(text: str, query: str, expected: tuple[tuple[int, int], ...]) -> None:
    assert [hit.spans for hit in hits(text.encode(), query)] == [expected]


def test_colours_do_not_hide_a_match_and_are_not_shown() -> None:
    assert hits(b"\x1b[1mer\x1b[31mror\x1b[0m: no\x00pe\r\n", "error") == [Hit(1, "error: no␀pe", ((0, 5),))]


def test_spans_count_the_characters_that_are_shown() -> None:
    (hit,) = hits("é\x00\u202eneedle".encode(), "needle")
    assert hit.text[slice(*hit.spans[0])] == "needle"


def test_a_long_line_is_shown_around_its_first_match() -> None:
    (hit,) = hits(b"x" * 10_000 + b"needle" + b"y" * 10_000, "needle", 4096)
    assert len(hit.text) <= LONGEST_HIT + 1
    assert hit.text[slice(*hit.spans[0])] == "needle"


def test_an_endless_line_is_searched_in_parts_and_is_one_hit() -> None:
    text = b"x" * (1 << 20) + b"needle" + b"y" * (3 << 20) + b"needle\nneedle\n"
    assert [hit.line for hit in hits(text, "needle", 300_007)] == [1, 2]


def test_the_first_hit_comes_before_the_rest_is_read() -> None:
    frames = decode_all(many_frames(10_000)[1])
    wanted = Search("line 0000007")
    first = next(frames)
    assert next(wanted.feed(first)).line == 7
    assert wanted.scanned_lines == 0
    assert not list(wanted.feed(next(frames)))
    assert wanted.scanned_lines > 2000


def test_a_search_can_begin_at_a_later_line() -> None:
    frames = [frame for frame in decode_all(many_frames(10_000)[1]) if frame.header.first_line > 3000]
    wanted = Search("of the log", match_case=True)
    wanted.start(frames[0].header.first_line)
    found = [hit for frame in frames for hit in wanted.feed(frame)]
    assert found[-1].line == 10_000
    assert all(hit.text.startswith(f"line {hit.line:07d}") for hit in found[1:])


@pytest.mark.parametrize("query", ["", "x" * 1001, "a\nb"])
def test_what_is_no_query(query: str) -> None:
    with pytest.raises(ValueError, match="1 to 1000 characters"):
        Search(query)
