import pytest
from hypothesis import given, strategies as st

from ostler.actions.engine.commands import NAMES, Command, parse

CASES = [
    ("::debug::text", Command("debug", "text", {})),
    ("  \t::DEBUG::text", Command("debug", "text", {})),
    ("::error file=a.py,line=3,col=7::bad", Command("error", "bad", {"file": "a.py", "line": "3", "col": "7"})),
    ("::error file=a%2Cb%3Ac%25,,=x::m%0An%25", Command("error", "m\nn%", {"file": "a,b:c%", "": "x"})),
    ("::error file=::m", Command("error", "m", {"file": ""})),
    ("::error title=a=b::m", Command("error", "m", {"title": "a=b"})),
    ("::warning::a::b", Command("warning", "a::b", {})),
    ("::group::", Command("group", "", {})),
    ("::set-output name=x::%0a", Command("set-output", "%0a", {"name": "x"})),
    ("before ##[add-matcher]file", Command("add-matcher", "file", {})),
    ("##[error file=a;line=3]m%3Bn%5D", Command("error", "m;n]", {"file": "a", "line": "3"})),
    ("a ::debug::text", None),
    ("::unknown::text", None),
    ("::debug:text", None),
    ("::debug text", None),
    ("##[unknown]text", None),
    ("##[debug text", None),
    ("std::vector::push", None),
    ("", None),
]


@pytest.mark.parametrize(("line", "command"), CASES, ids=[case[0] for case in CASES])
def test_parses(line: str, command: Command | None) -> None:
    assert parse(line) == command


PIECES = ["::", "##[", "error", "add-mask", *":#[]%, ;=0DAn\r\n\0é"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_nothing_makes_it_fall(line: str) -> None:
    found = parse(line)
    assert found is None or found.name in NAMES


@given(data=st.text(), title=st.text(min_size=1))
def test_what_the_toolkit_escapes_comes_back(data: str, title: str) -> None:
    def escaped(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    value = escaped(title).replace(":", "%3A").replace(",", "%2C")
    found = parse(f"::error title={value}::{escaped(data)}")
    assert found is not None
    assert found.data == data
    assert found.properties == {"title": title} or title != title.strip()
