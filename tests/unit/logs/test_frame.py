"""The frame format: whatever was encoded comes back, and bytes that lie are found out."""

from __future__ import annotations

import struct
from zlib import crc32

import pytest
from hypothesis import given, strategies as st

from ostler.logs.compression import Compressor
from ostler.logs.errors import FrameDamaged
from ostler.logs.frame import (
    HEADER_LENGTH,
    TEXT_LIMIT,
    FrameHeader,
    decode,
    decode_all,
    encode,
    follows,
    read_header,
    scan,
)
from ostler.logs.writer import LogWriter
from tests.unit.logs.made_logs import WRITES, Written, frames_of, text_of

FIELDS = struct.Struct("<3sBB3sIIIIQQ")
NAMES = ("magic", "version", "flags", "zero", "text", "payload", "newlines", "runs", "offset", "line")


def sample(text: bytes = b"one\ntwo\nthr", level: int = 1) -> bytes:
    lines = text.count(b"\n") + (not text.endswith(b"\n"))
    return encode(
        text, [(lines, 17, 3)], first_offset=100, first_line=5, begins_in_mid_line=True, compressor=Compressor(level)
    )


def forge(frame: bytes, other_payload: bytes | None = None, **changes: object) -> bytes:
    """The frame with other fields, or another payload, and a checksum that fits."""
    body = frame[HEADER_LENGTH:] if other_payload is None else other_payload
    fields = dict(zip(NAMES, FIELDS.unpack_from(frame), strict=True)) | {"payload": len(body)} | changes
    head = FIELDS.pack(*fields.values())
    return head + struct.pack("<I", crc32(body, crc32(head))) + body


def damage(data: bytes) -> str:
    with pytest.raises(FrameDamaged) as caught:
        decode(data)
    return caught.value.code


def test_a_frame_comes_back() -> None:
    frame = decode(sample())
    assert frame.text == b"one\ntwo\nthr"
    assert frame.runs == ((3, 17, 3),)
    header = frame.header
    assert (header.first_offset, header.next_offset, header.first_line, header.next_line) == (100, 111, 5, 7)
    assert (header.newlines, header.lines) == (2, 3)
    assert header.begins_in_mid_line
    assert header.ends_in_mid_line
    assert header.frame_length == len(sample())


@given(
    lines=st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"") + b"\n"), min_size=1, max_size=30),
    times=st.lists(st.integers(-(1 << 60), 1 << 60), min_size=30, max_size=30),
    steps=st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=30, max_size=30),
    offset=st.integers(100, 1 << 61),
)
def test_any_content_comes_back(lines: list[bytes], times: list[int], steps: list[int], offset: int) -> None:
    runs = [(1, time, step) for time, step in zip(times, steps, strict=True)][: len(lines)]
    text = b"".join(lines)
    data = encode(
        text, runs, first_offset=offset, first_line=offset, begins_in_mid_line=False, compressor=Compressor(1)
    )
    frame = decode(b"before" + data + b"after", 6)
    assert (frame.text, list(frame.runs), frame.header.first_offset) == (text, runs, offset)


@given(
    changes=st.lists(st.tuples(st.integers(0, 200), st.integers(1, 255)), min_size=1, max_size=4),
    length=st.integers(0, 200),
)
def test_mutated_bytes_are_damage_and_nothing_else(changes: list[tuple[int, int]], length: int) -> None:
    original = sample(b"some text\n" * 20)
    data = bytearray(original)
    for place, flip in changes:
        data[place % len(data)] ^= flip
    for mutant in (bytes(data), original[: length % len(original)]):
        if mutant != original:
            with pytest.raises(FrameDamaged):
                decode(mutant)


@given(
    name=st.sampled_from(NAMES[2:]),
    value=st.integers(0, (1 << 32) - 1) | st.integers(0, 20),
    body=st.none() | st.binary(max_size=40),
)
def test_a_liar_with_the_right_checksum_is_found_out(name: str, value: int, body: bytes | None) -> None:
    change: object = {"flags": value % 256, "zero": value.to_bytes(4, "little")[:3]}.get(name, value)
    lie = forge(sample(), body, **{name: change})
    try:
        frame = decode(lie)
    except FrameDamaged:
        return
    assert sum(run[0] for run in frame.runs) == frame.header.lines
    assert frame.text.count(b"\n") == frame.header.newlines
    assert len(frame.text) == frame.header.text_length
    assert frame.text == b"one\ntwo\nthr"


@pytest.mark.parametrize(
    ("lie", "code"),
    [
        (sample()[:-1], "truncated"),
        (sample()[:20], "truncated"),
        (b"X" + sample()[1:], "bad_magic"),
        (forge(sample(), version=2), "bad_version"),
        (forge(sample(), flags=7), "bad_flags"),
        (forge(sample(), zero=b"\0\0\1"), "bad_flags"),
        (forge(sample(), text=TEXT_LIMIT + 1), "bad_length"),
        (forge(sample(), text=0), "bad_length"),
        (forge(sample(), payload=1 << 31), "bad_length"),
        (forge(sample(), offset=1 << 63), "bad_length"),
        (forge(sample(), line=0), "bad_length"),
        (forge(sample(), line=102), "bad_lines"),
        (forge(sample(), offset=0, line=1), "bad_lines"),
        (forge(sample(), newlines=1, runs=1), "bad_lines"),
        (forge(sample(), newlines=12), "bad_lines"),
        (forge(sample(), flags=1), "bad_lines"),
        (forge(sample(), runs=0), "bad_runs"),
        (forge(sample(), runs=4), "bad_runs"),
        (forge(sample(), text=10), "bad_payload"),
        (forge(sample(), b"not zstd at all"), "bad_payload"),
        (forge(sample(), sample()[HEADER_LENGTH:] * 2), "bad_payload"),
        (sample()[:-1] + b"\0", "bad_checksum"),
    ],
)
def test_each_lie_has_its_code(lie: bytes, code: str) -> None:
    assert damage(lie) == code


def test_a_bomb_is_not_unpacked() -> None:
    bomb = Compressor(19).compress(b"\0" * (64 << 20))
    assert len(bomb) < 10_000
    assert damage(forge(sample(b"a" * 12_000), bomb, text=12_000)) == "bad_payload"


def test_runs_in_a_payload_are_checked() -> None:
    table = struct.pack("<I", 2) + bytes(12)
    shuffled = bytes(table)
    assert damage(forge(sample(), Compressor(1).compress(shuffled + b"one\ntwo\nthr"))) == "bad_runs"


def test_incompressible_text_fits() -> None:
    text = b"".join(crc32(b"%d" % number).to_bytes(4, "little") for number in range(TEXT_LIMIT // 4))
    assert decode(sample(text)).text == text


@pytest.mark.parametrize("text", [b"", b"a" * (TEXT_LIMIT + 1)])
def test_a_wrong_call_is_the_callers_mistake(text: bytes) -> None:
    with pytest.raises(ValueError, match="bytes is outside"):
        sample(text)


@given(writes=WRITES, cut=st.integers(0, 10_000), junk=st.binary(max_size=60))
def test_a_torn_write_is_cut_off_and_continued(writes: list[Written], cut: int, junk: bytes) -> None:
    frames = frames_of(writes)
    ends = [0]
    for frame in decode_all(frames):
        ends.append(ends[-1] + frame.header.frame_length)
    torn = frames[: cut % (len(frames) + 1)]
    found = scan(torn + junk[1:])
    assert found.length == max(end for end in ends if end <= len(torn))
    last = decode(torn, found.last_position) if found.last else None
    writer = LogWriter(after=last, frame_text=5)
    whole = torn[: found.length] + writer.write(b"more\nand more", 9, 9) + writer.flush()
    kept = b"".join(frame.text for frame in decode_all(torn[: found.length]))
    assert b"".join(frame.text for frame in decode_all(whole)) == kept + b"more\nand more"
    assert text_of(writes).startswith(kept)


def test_frames_that_do_not_follow_each_other_are_damage() -> None:
    frame = sample()
    with pytest.raises(FrameDamaged, match="does not continue") as caught:
        list(decode_all(frame + frame))
    assert (caught.value.code, caught.value.position) == ("bad_sequence", len(frame))
    assert scan(frame + frame).length == len(frame)


def test_headers_can_be_read_before_the_payload_is_there() -> None:
    first, second = frames_of([Written(b"a\nb", 1, 1, flush=True)]), sample()
    header = read_header(first[:HEADER_LENGTH])
    assert isinstance(header, FrameHeader)
    assert header.frame_length == len(first)
    assert not follows(header, read_header(second))
