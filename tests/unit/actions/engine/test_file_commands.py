import contextlib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ostler.actions.engine.file_commands import BadFile, make_files, pairs, read

GOOD = [
    ("a=1\nb=2\n", [("a", "1"), ("b", "2")]),
    ("a=1", [("a", "1")]),
    ("\n\na=\n", [("a", "")]),
    ("a=b=c\n", [("a", "b=c")]),
    ("a=x<<y\n", [("a", "x<<y")]),
    ("a<<E\none\ntwo\nE\n", [("a", "one\ntwo")]),
    ("a<<E\none\nE", [("a", "one")]),
    ("a<<E\nE\nb=1\n", [("a", ""), ("b", "1")]),
    ("a<<E\n E\nEE\nE \nE\n", [("a", " E\nEE\nE ")]),
    ("a<<E=1\nx\nE=1\n", [("a", "x")]),
    ("a<<ghadelimiter_1\nv\nghadelimiter_1\n", [("a", "v")]),
    ("a=1\r\n", [("a", "1\r")]),
    ("a<<E\r\nx\r\nE\r\n", [("a", "x\r")]),
    ("a=1\na=2\n", [("a", "1"), ("a", "2")]),
]
BAD = [
    ("novalue\n", "Invalid format 'novalue' on line 1: it is neither"),
    ("a=1\n=x\n", "Invalid format '=x' on line 2: there is no name"),
    ("<<E\nx\nE\n", "Invalid format '<<E' on line 1: a name"),
    ("a<<\nx\n", "Invalid format 'a<<' on line 1: a name"),
    ("a<<E\nx\nEE\n", "Invalid value. Matching delimiter not found 'E' after line 1"),
]


@pytest.mark.parametrize(("text", "found"), GOOD, ids=[repr(case[0]) for case in GOOD])
def test_reads(text: str, found: list[tuple[str, str]]) -> None:
    assert pairs(text) == found


@pytest.mark.parametrize(("text", "reason"), BAD, ids=[repr(case[0]) for case in BAD])
def test_says_what_is_wrong_and_where(text: str, reason: str) -> None:
    with pytest.raises(BadFile) as caught:
        pairs(text)
    assert str(caught.value).startswith(reason)


@given(st.lists(st.tuples(st.from_regex(r"[A-Za-z_]{1,5}", fullmatch=True), st.text())))
def test_what_clients_write_comes_back(written: list[tuple[str, str]]) -> None:
    text = "".join(f"{name}<<ghadelimiter_7\n{value}\nghadelimiter_7\n" for name, value in written)
    if not any("ghadelimiter_7" in value.split("\n") for _, value in written):
        assert pairs(text) == written


@given(st.text(alphabet="a=<E\n\r "))
def test_nothing_makes_it_fall(text: str) -> None:
    with contextlib.suppress(BadFile):
        assert all(name for name, _ in pairs(text))


def test_a_mark_of_byte_order_and_broken_text_are_borne(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa=\xff")
    assert pairs(read(str(tmp_path / "f"))) == [("a", "\ufffd")]


def test_files_are_bounded_and_no_links(tmp_path: Path) -> None:
    files = make_files(str(tmp_path), "1")
    assert set(files.variables()) == {
        "GITHUB_ENV",
        "GITHUB_OUTPUT",
        "GITHUB_PATH",
        "GITHUB_STATE",
        "GITHUB_STEP_SUMMARY",
    }
    Path(files.env).write_bytes(b"x" * 100)
    with pytest.raises(BadFile, match="holds 100 bytes and may hold 99"):
        read(files.env, 99)
    Path(files.output).unlink()
    assert read(files.output) == ""
    Path(files.output).symlink_to("/etc/passwd")
    with pytest.raises(BadFile):
        read(files.output)
