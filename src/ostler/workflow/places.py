"""Where in a file a character of a value stands.

A value is not written as it reads: lines are folded and indented, quotes doubled, characters escaped. The value and its
source are walked together, so that a mistake inside of a script or an expression is shown where a person will mend it.
"""

import re
from typing import Final

from ostler.workflow.findings import Span
from ostler.workflow.nodes import ScalarNode

_ESCAPES: Final = {"x": 2, "u": 4, "U": 8}
_PROPERTIES: Final = re.compile(r"(?:[&!]\S*\s+)+")
_SPACES: Final = frozenset(" \t\r\n")


def span_within(node: ScalarNode, source: str, start: int, end: int) -> Span:
    """Return the place of ``node.text[start:end]`` in the text of the file."""
    begins = _offset(source, node.span.line, node.span.column)
    ends = _offset(source, node.span.end_line, node.span.end_column)
    places = _places(node, source[begins:ends])
    first = begins + (places[start] if start < len(places) else ends - begins)
    last = begins + places[end - 1] + 1 if start < end <= len(places) else first + 1
    return Span(*_line_and_column(source, first), *_line_and_column(source, last))


def _places(node: ScalarNode, written: str) -> list[int]:
    """Return for each character of the value its offset in what was written."""
    at = _header(node, written)
    places: list[int] = []
    for character in node.text:
        if character in _SPACES and written[at : at + 1] != character:
            places.append(min(at, len(written)))
            continue
        at = _found(node, written, at, character)
        places.append(min(at, len(written)))
        at += 1
    return places


def _header(node: ScalarNode, written: str) -> int:
    """Return where the value begins: after anchor and tag, its quote, or the line that announces a block."""
    if node.style in ("|", ">"):
        return written.find("\n") + 1 or len(written)
    properties = _PROPERTIES.match(written)
    return (properties.end() if properties else 0) + len(node.style)


def _found(node: ScalarNode, written: str, at: int, character: str) -> int:
    """Return the next place at or after one where a character is written."""
    while at < len(written):
        if node.style == '"' and written[at] == "\\":
            length = 2 + _ESCAPES.get(written[at + 1 : at + 2], 0)
            if written[at + 1 : at + 2] in _SPACES:
                at += length
                continue
            return at + length - 1
        if written[at] == character:
            return at + (node.style == "'" == character)
        at += 1
    return at


def _offset(source: str, line: int, column: int) -> int:
    at = 0
    for _ in range(line - 1):
        at = source.find("\n", at) + 1
    return at + column - 1


def _line_and_column(source: str, offset: int) -> tuple[int, int]:
    start = source.rfind("\n", 0, offset) + 1
    return source.count("\n", 0, start) + 1, offset - start + 1
