"""Where the characters of a value stand in its file, in every style of scalar."""

import pytest
from hypothesis import given, strategies as st

from ostler.workflow.nodes import MappingNode, ScalarNode
from ostler.workflow.places import span_within
from ostler.workflow.reader import read

_WRITTEN = [
    "run: echo ${{ x.y }}",
    "run: 'it''s ${{ x.y }}'",
    'run: "a \\t\\"b\\u0041 ${{ x.y }}"',
    "run: |\n    one\n\n      two ${{ x.y }}\n    three\n",
    "run: >-\n  one\n  two\n\n  three ${{ x.y }}\n",
    "run: one\n  two\n  ${{ x.y }}\n",
    'run: "one\n  two \\\n  ${{ x.y }}"\n',
    "run: |2\n   a\n  ${{ x.y }}\n",
    "run: |  # why\n  ${{ x.y }}\n",
    "run: &x x.y\n",
    "run: &name !!str ${{ x.y }}\n",
    "run: &name 'q ${{ x.y }}'\n",
    "run: |\r\n  one\r\n  ${{ x.y }}\r\n",
]


@pytest.mark.parametrize("written", _WRITTEN)
def test_a_part_of_a_value_is_found_in_the_file(written: str) -> None:
    """However a value is written, what stands at the place is what was asked for."""
    node = _value(written)
    start = node.text.index("x.y")
    span = span_within(node, written, start, start + 3)
    line = written.split("\n")[span.line - 1]
    assert line[span.column - 1 : span.end_column - 1] == "x.y"


@given(st.text("ab '\"\\\n:#", max_size=30), st.sampled_from(["'", '"', "|", ">"]), st.integers(0, 40))
def test_no_value_is_without_a_place(text: str, style: str, start: int) -> None:
    """Every offset has a place inside of the file."""
    closing = style if style not in "|>" else ""
    written = f"run: {style}\n  {text}\n  {closing}\n"
    root = read("ci.yml", written.encode()).root
    if isinstance(root, MappingNode) and isinstance(node := root.get("run"), ScalarNode):
        span = span_within(node, written, start, start + 1)
        assert 1 <= span.line <= written.count("\n") + 1


def _value(written: str) -> ScalarNode:
    root = read("ci.yml", written.encode()).root
    assert isinstance(root, MappingNode)
    node = root.get("run")
    assert isinstance(node, ScalarNode)
    return node
