"""A capped log keeps its beginning and its end, and says truly what lies between."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from ostler.logs.caps import LogCap

NOTICE = re.compile(rb"\n?\[(\d+) bytes, (\d+) lines of output are missing here: log limit\]\n")
CHUNKS = st.lists(
    st.lists(st.sampled_from([b"\n", b"a", b"bcd", b"line of text\n"]), max_size=8).map(b"".join), max_size=14
)


def capped(chunks: list[bytes], head: int, tail: int) -> bytes:
    cap = LogCap(head, tail)
    shown = b"".join(cap.feed(chunk, 1, 0) for chunk in chunks)
    return shown + b"".join(chunk[0] for chunk in cap.finish(2, 0))


@given(chunks=CHUNKS, head=st.integers(0, 60), tail=st.integers(0, 60))
def test_head_and_tail_are_kept_and_the_rest_is_counted(chunks: list[bytes], head: int, tail: int) -> None:
    whole = b"".join(chunks)
    cap = LogCap(head, tail)
    before = b"".join(cap.feed(chunk, 1, 0) for chunk in chunks)
    rest = [chunk[0] for chunk in cap.finish(2, 0)]
    found = NOTICE.fullmatch(rest[0]) if rest else None
    if found is None:
        assert before + b"".join(rest) == whole
        return
    after = b"".join(rest[1:])
    dropped = whole[len(before) : len(whole) - len(after)]
    assert whole == before + dropped + after
    assert (int(found[1]), int(found[2])) == (len(dropped), dropped.count(b"\n"))
    assert len(whole) > tail
    assert len(before) <= head
    assert len(after) <= tail
    assert found[0].startswith(b"\n") == (before != b"" and not before.endswith(b"\n"))
    assert dropped.endswith(b"\n") or b"\n" not in whole[len(whole) - tail :]


@given(chunks=CHUNKS)
def test_what_fits_is_unchanged(chunks: list[bytes]) -> None:
    assert capped(chunks, 0, len(b"".join(chunks))) == b"".join(chunks)
    assert capped(chunks, len(b"".join(chunks)), 0) == b"".join(chunks)


def test_times_and_steps_of_the_end_are_kept() -> None:
    cap = LogCap(0, 3000)
    for number in range(10):
        assert cap.feed(b"%01000d\n" % number, number, number) == b""
    assert cap.is_full
    notice, *tail = cap.finish(99, 98)
    assert notice[1:] == (99, 98)
    assert [(time, step) for _, time, step in tail] == [(8, 8), (9, 9)]


def test_a_flood_of_single_bytes_costs_little() -> None:
    cap = LogCap(10, 100_000)
    for _ in range(300_000):
        cap.feed(b"y", 1, 0)
    chunks = cap.finish(2, 0)
    assert len(chunks) < 200
    assert sum(len(chunk[0]) for chunk in chunks[1:]) == 100_000
