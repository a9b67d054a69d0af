"""Reading YAML: places, what the language leaves out, bounds, and nothing that crashes it."""

import pytest
from hypothesis import given, strategies as st

from ostler.workflow.findings import Span
from ostler.workflow.nodes import MappingNode, ScalarNode, SequenceNode
from ostler.workflow.reader import DEEPEST, LARGEST, read


def test_nodes_know_their_places() -> None:
    """Lines and columns count from 1, in characters, on Windows' line ends too."""
    document = read("ci.yml", "ü: ä\r\njobs:\r\n  a: [1, 'x']\r\n".encode())
    root = document.root
    assert isinstance(root, MappingNode)
    assert document.findings == ()
    assert [entry.key.span for entry in root] == [Span(1, 1, 1, 2), Span(2, 1, 2, 5)]
    jobs = root.get("jobs")
    assert isinstance(jobs, MappingNode)
    items = jobs.get("a")
    assert isinstance(items, SequenceNode)
    assert [item.span for item in items.items] == [Span(3, 7, 3, 8), Span(3, 10, 3, 13)]
    assert [item.value for item in items.items if isinstance(item, ScalarNode)] == [1.0, "x"]
    assert jobs.get("b") is None


def test_on_is_a_word() -> None:
    """YAML 1.1 takes ``on`` for true."""
    root = read("ci.yml", b"on: yes").root
    assert isinstance(root, MappingNode)
    assert root.entries[0].key.value == "on"


def test_a_byte_order_mark_is_no_part_of_the_file() -> None:
    """Editors on Windows write one."""
    root = read("ci.yml", b"\xef\xbb\xbfon: push").root
    assert isinstance(root, MappingNode)
    assert root.entries[0].key.text == "on"


def test_lines_end_as_in_yaml_1_2() -> None:
    """A lone return ends one; what only YAML 1.1 took for an end stays in its value."""
    root = read("ci.yml", "a: 1\rb: 'x\u2028y\u0085z'\r\nc: 3\n".encode()).root
    assert isinstance(root, MappingNode)
    assert [entry.key.span.line for entry in root] == [1, 2, 3]
    text = root.get("b")
    assert isinstance(text, ScalarNode)
    assert (text.text, text.value) == ("x\u2028y\u0085z", "x\u2028y\u0085z")


def test_an_alias_is_the_same_node() -> None:
    """An alias stands for the value with its anchor, without a copy."""
    root = read("ci.yml", b"a: &x [1]\nb: *x\nc: *x\n").root
    assert isinstance(root, MappingNode)
    assert root.get("b") is root.get("a") is root.get("c")


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"---\n...\n"])
def test_nothing_is_not_a_mistake_of_the_reader(content: bytes) -> None:
    """An empty file has no tree, or a null; what that means is for others to say."""
    document = read("ci.yml", content)
    assert document.findings == ()
    assert document.root is None or isinstance(document.root, ScalarNode)


_MALFORMED = [
    (b"a:\n\tb: 1\n", "syntax", "tab", (2, 1)),
    (b"a:\n  b: 1\n \tc: 1\n", "syntax", "tab", (3, 2)),
    (b"a: b: c\n", "syntax", "':' cannot stand here", (1, 5)),
    (b"a\nb\nc: 1\n", "syntax", "':' cannot stand here", (3, 2)),
    (b"a: 1\nb\n", "syntax", "neither", (3, 1)),
    (b"a: [1, 2\n", "syntax", "closing bracket", (2, 1)),
    (b"a: 1\nb: 'x\nc: 1\n", "syntax", "quoted", (2, 4)),
    (b"a: @x\n", "syntax", "'@'", (1, 4)),
    (b"a: `x`\n", "syntax", "'`'", (1, 4)),
    (b"a: %x\n", "syntax", "'%'", (1, 4)),
    (b"k: - a\n", "syntax", "list cannot begin", (1, 4)),
    (b"- a\nb: 1\n", "syntax", "'-' was expected", (2, 1)),
    (b"jobs:\n  a:\n    x: 1\n   b:\n", "syntax", "key was expected", (4, 4)),
    (b'a: "\\q"\n', "syntax", "escape", (1, 5)),
    (b"a: *x\n", "anchor", "no anchor &x", (1, 4)),
    (b"a: &b 1\nc: *d\n", "anchor", "no anchor &d", (2, 4)),
    (b"a: &a [*a]\n", "anchor", "within its own", (1, 8)),
    (b"a: 1\nb: 2\na: 3\n", "duplicate-key", "first on line 1", (3, 1)),
    (b"a: &a {b: 1}\nc:\n  <<: *a\n", "merge-key", "merge", (3, 3)),
    (b"if: !cond\n", "tag", "!cond", (1, 5)),
    (b"a: !!int x\n", "tag", "type int", (1, 4)),
    (b"a: !x [1]\n", "tag", "!x", (1, 4)),
    (b"? [a]\n: 1\n", "syntax", "single value", (1, 3)),
    (b"--- a\n--- b\n", "syntax", "second document", (2, 1)),
    (b"a: 1\nb: \x00", "syntax", "U+0000", (2, 4)),
    (b"a: 1\n\xff", "encoding", "UTF-8", (2, 1)),
    (b"a" * (LARGEST + 1), "file-size", "at most", (1, 1)),
    (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), "file-size", "deeper", (1, DEEPEST + 1)),
]


@pytest.mark.parametrize(
    ("content", "rule", "message", "place"), _MALFORMED, ids=[repr(row[0][:20]) for row in _MALFORMED]
)
def test_mistakes_are_found_where_they_are(content: bytes, rule: str, message: str, place: tuple[int, int]) -> None:
    """Each mistake is one finding with its rule, its place and words that lead to it."""
    (finding,) = read("ci.yml", content).findings
    assert finding.rule == rule
    assert message in finding.message
    assert (finding.span.line, finding.span.column) == place


def test_aliases_cannot_exhaust_memory() -> None:
    """Nine aliases of nine aliases of nine … are refused before anything is built of them."""
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]")
    (finding,) = read("ci.yml", "\n".join(lines).encode()).findings
    assert finding.rule == "file-size"
    assert "aliases" in finding.message


@given(st.one_of(st.binary(max_size=200), st.text("ab:-&*![]{}'\"|>#?@`%\n\t ,~<1.", max_size=60).map(str.encode)))
def test_no_bytes_crash_the_reader(content: bytes) -> None:
    """Whatever a file holds is a tree, nothing, or findings within the file."""
    document = read("ci.yml", content)
    lines = content.decode("utf-8", "replace").count("\n") + 2
    assert all(1 <= finding.span.line <= lines and finding.span.column >= 1 for finding in document.findings)
