"""The streaming masker must equal a naive one that sees the whole output at once, for every way to cut it."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from ostler.logs.encoders import forms
from ostler.logs.masker import LONGEST_SECRET, Masker, why_not_masked

CONTROL = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
LONGEST_CONTROL = 64


def occurrences(pattern: bytes, text: bytes) -> list[tuple[int, int]]:
    starts = [place for place in range(len(text)) if text.startswith(pattern, place)]
    return [(start, start + len(pattern)) for start in starts]


def as_a_reader_sees_it(text: bytes) -> list[tuple[int, int]]:
    """(byte, where it stands) without the control sequences."""
    hidden = {
        place for found in CONTROL.finditer(text) if len(found[0]) <= LONGEST_CONTROL for place in range(*found.span())
    }
    return [(code, place) for place, code in enumerate(text) if place not in hidden]


def mask_once(secrets: list[bytes], text: bytes) -> bytes:
    patterns = {form for secret in secrets for form in forms(secret)}
    longest = max(map(len, patterns), default=0)
    spans: list[tuple[int, int]] = []
    seen = as_a_reader_sees_it(text)
    plain = bytes(code for code, _ in seen)
    for pattern in patterns:
        spans += occurrences(pattern, text)
        stretched = [(seen[start][1], seen[end - 1][1] + 1) for start, end in occurrences(pattern, plain)]
        spans += [(start, end) for start, end in stretched if end - start <= 4 * longest + (64 << 10)]
    masked, position = b"", 0
    merged: list[list[int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([start, end])
    for start, end in merged:
        masked += text[position:start] + b"***"
        position = end
    return masked + text[position:]


def stream(masker: Masker, chunks: list[bytes]) -> bytes:
    return b"".join(map(masker.feed, chunks)) + masker.finish()


def cut(text: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(bounds)]


FEW = st.sampled_from([b"a", b"b"])
SECRETS = st.lists(st.lists(FEW, min_size=4, max_size=9).map(b"".join), min_size=1, max_size=4)
PLAIN_TEXT = st.lists(st.sampled_from([b"a", b"b", b"ab", b"c", b"\n"]), max_size=40).map(b"".join)
CUTS = st.lists(st.integers(0, 500), max_size=12)
INTERRUPTIONS = st.sampled_from(
    [b"", b"", b"\x1b[1m", b"\x1b[K\x1b[0;3m", b"\x1b", b"\x1b[", b"\x1b[" + b"1" * 62 + b"m"]
)


@st.composite
def coloured(draw: st.DrawFn, secrets: list[bytes]) -> bytes:
    """Secrets and beginnings of them, with control sequences, and what looks like them, between their bytes."""
    text = b""
    for _ in range(draw(st.integers(1, 3))):
        secret = draw(st.sampled_from(secrets))
        for place in range(draw(st.sampled_from([1, 3, len(secret), len(secret)]))):
            text += secret[place : place + 1] + draw(INTERRUPTIONS)
    return text


@settings(max_examples=60)
@given(secrets=SECRETS, text=PLAIN_TEXT, places=CUTS)
def test_every_chunking_equals_the_whole(secrets: list[bytes], text: bytes, places: list[int]) -> None:
    expected = mask_once(secrets, text)
    assert stream(Masker(secrets), cut(text, places)) == expected
    assert stream(Masker(secrets), [text[place : place + 1] for place in range(len(text))]) == expected


@given(data=st.data(), secrets=SECRETS, places=CUTS)
def test_colours_inside_a_secret_do_not_free_it(data: st.DataObject, secrets: list[bytes], places: list[int]) -> None:
    text = data.draw(coloured(secrets))
    expected = mask_once(secrets, text)
    assert stream(Masker(secrets), cut(text, places)) == expected
    assert stream(Masker(secrets), [text[place : place + 1] for place in range(len(text))]) == expected


@given(
    secret=st.sampled_from([b"[1mab", b"\x1b[1ma", b"a\x1b[1mb1", b"1m1m"]),
    text=st.lists(st.sampled_from([b"\x1b[1m", b"1m", b"\x1b", b"[", b"1", b"a", b"b"]), max_size=8).map(b"".join),
)
def test_a_secret_may_look_like_a_control_sequence(secret: bytes, text: bytes) -> None:
    assert stream(Masker([secret]), [text[place : place + 1] for place in range(len(text))]) == mask_once(
        [secret], text
    )


@pytest.mark.parametrize(
    ("secret", "text", "expected"),
    [
        (b"secret", b"<se\x1b[1mcret>", b"<***>"),
        (b"secret", b"<se\x1b[0;38;5;12m\x1b[Kcr\x1b[met>", b"<***>"),
        (b"1m1m", b"\x1b[1m\x1b[0m1m", b"\x1b[1m\x1b[0m1m"),
        (b"secret", b"se\x1b[" + b"1" * 61 + b"mcret", b"***"),
        (b"secret", b"se\x1b[" + b"1" * 62 + b"mcret", b"se\x1b[" + b"1" * 62 + b"mcret"),
        (b"secret", b"se\x1b\x1b[mcret", b"se\x1b\x1b[mcret"),
    ],
)
def test_colours_by_example(secret: bytes, text: bytes, expected: bytes) -> None:
    assert mask_once([secret], text) == expected
    for place in range(len(text)):
        assert stream(Masker([secret]), [text[:place], text[place:]]) == expected
    assert stream(Masker([secret]), [text[place : place + 1] for place in range(len(text))]) == expected


@settings(max_examples=60)
@given(
    secrets=st.lists(st.binary(min_size=30, max_size=90), min_size=1, max_size=3),
    parts=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 90), st.integers(0, 90)), max_size=6),
    places=CUTS,
)
def test_long_secrets_and_their_pieces(
    secrets: list[bytes], parts: list[tuple[int, int, int]], places: list[int]
) -> None:
    text = b"".join(secrets[which % len(secrets)][start:] + secrets[0][:end] for which, start, end in parts)
    assert stream(Masker(secrets), cut(text, places)) == mask_once(secrets, text)


@settings(max_examples=60)
@given(secrets=SECRETS, text=PLAIN_TEXT)
def test_what_is_held_back_is_short_and_only_a_beginning(secrets: list[bytes], text: bytes) -> None:
    masker = Masker(secrets)
    patterns = {form for secret in secrets for form in forms(secret)}
    for place in range(len(text)):
        masker.feed(text[place : place + 1])
        held = text[place + 1 - masker.held : place + 1]
        assert masker.held < max(map(len, patterns))
        assert not held or any(pattern.startswith(held) and pattern != held for pattern in patterns)


@given(data=st.data(), places=st.lists(st.integers(0, 30_000), max_size=4))
@settings(max_examples=20)
def test_colours_in_long_output(data: st.DataObject, places: list[int]) -> None:
    secrets = [b"hunter2", b"swordfish"]
    filler = b"\x1b[32mok\x1b[0m line\n" * 300
    text = b"".join(data.draw(coloured(secrets)) + filler for _ in range(3)) + data.draw(coloured(secrets))
    assert stream(Masker(secrets), cut(text, places)) == mask_once(secrets, text)


def test_a_prompt_is_seen_at_once() -> None:
    masker = Masker([b"hunter2-and-more"])
    assert masker.feed(b"\x1b[1mPassword:\x1b[0m ") == b"\x1b[1mPassword:\x1b[0m "
    assert masker.feed(b"\x1b[3 broken sequence> ") == b"\x1b[3 broken sequence> "
    assert masker.held == 0


def test_overlapping_secrets_become_one_mask_and_neighbours_two() -> None:
    assert stream(Masker([b"abcdef", b"defghi"]), [b"<abcdefghi>"]) == b"<***>"
    assert stream(Masker([b"abcdef"]), [b"<abcdefabcdef>"]) == b"<******>"


def test_an_endless_secret_is_not_held_back_endlessly() -> None:
    masker = Masker([b"abab"])
    out = b"".join(masker.feed(b"ab") for _ in range(1000))
    assert out == b"***"
    assert masker.held == 2
    assert masker.finish() == b""


def test_a_stretched_secret_is_held_only_so_long() -> None:
    masker = Masker([b"secret-value"])
    shown = masker.feed(b"secret")
    for _ in range(200):
        shown += masker.feed(b"\x1b[1m" * 250)
    assert masker.held < 70_000
    assert shown.startswith(b"secret")


def test_a_secret_can_be_added_while_output_is_held() -> None:
    masker = Masker([b"first-secret"])
    assert masker.feed(b"first-") == b""
    assert masker.add(b"first-aid") is None
    assert masker.feed(b"aid second-secret first-secret") + masker.finish() == b"*** second-secret ***"
    assert masker.add(b"second-secret") is None
    assert masker.feed(b"second-secret.") == b"***."


@pytest.mark.parametrize(
    ("secret", "reason"),
    [
        (b"", "too_short"),
        (b" \n ", "too_short"),
        (b"abc\n", "too_short"),
        (b"abcd", None),
        (b"x" * LONGEST_SECRET, None),
        (b"x" * (LONGEST_SECRET + 1), "too_long"),
    ],
)
def test_what_cannot_be_masked_says_why(secret: bytes, reason: str | None) -> None:
    assert why_not_masked(secret) == reason
    assert Masker().add(secret) == reason


def test_nothing_is_touched_without_secrets() -> None:
    masker = Masker([b"abc"])
    assert masker.feed(b"abc\x1b[") == b"abc\x1b["
    assert masker.finish() == b""


def test_a_great_many_secrets_and_hits() -> None:
    secrets = [f"S{number:05}-{number * 7919:06}".encode() for number in range(300)]
    text = b"".join(b"x " + secret + b" y\n" for secret in secrets) * 10
    masked = stream(Masker(secrets), cut(text, list(range(0, len(text), 4093))))
    assert masked == b"x *** y\n" * 3000


def test_a_very_long_secret() -> None:
    secret = b"".join(b"%06d" % number for number in range(10_000))
    text = b"<" + secret + b"|" + secret[:-1] + b"|" + secret.hex().encode() + b">"
    expected = b"<***|" + secret[:-1] + b"|***>"
    assert stream(Masker([secret]), cut(text, list(range(0, len(text), 30_011)))) == expected
