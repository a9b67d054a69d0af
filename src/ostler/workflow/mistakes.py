"""What people meant when a file is no YAML: the parser's complaint in words that lead to the mistake."""

from typing import NamedTuple

import yaml

from ostler.workflow.findings import Finding, Span


class _Mistake(NamedTuple):
    complaint: str
    message: str
    fix: str


_MISTAKES = (
    _Mistake(
        "mapping values are not allowed",
        "a ':' cannot stand here",
        "Quote the value if the ':' belongs to it; check the indentation of this line and the one before.",
    ),
    _Mistake(
        "could not find expected ':'",
        "this line is neither `key: value` nor part of the value before it",
        "Add the ':' and a space after it, or indent the line as part of the value above.",
    ),
    _Mistake(
        "did not find expected key",
        "a key was expected here",
        "Indent it like the other keys of its block; quote a value that begins or ends with a quote or bracket.",
    ),
    _Mistake(
        "did not find expected '-' indicator",
        "a '-' was expected here",
        "Begin each item of the list with '-', all at the same indentation.",
    ),
    _Mistake(
        "block sequence entries are not allowed",
        "a list cannot begin here",
        "Put the '-' on a line of its own below the key.",
    ),
    _Mistake(
        "found unexpected end of stream",
        "the file ends within a quoted value",
        "Close the quote that was opened here.",
    ),
    _Mistake("did not find expected ',' or", "a ',' or the closing bracket was expected here", "Close the bracket."),
    _Mistake("found unexpected ':'", "a ':' cannot stand here", "Put a space after the ':', or quote the value."),
    _Mistake("did not find expected node content", "a value was expected here", "Quote the value or remove this."),
)
_RESERVED = {
    "\t": ("a tab cannot stand here", "Indent with spaces."),
    "@": ("a plain value cannot begin with '@'", "Quote the value."),
    "`": ("a plain value cannot begin with '`'", "Quote the value."),
    "%": ("a plain value cannot begin with '%'", "Quote the value."),
}


def explained(error: yaml.MarkedYAMLError, text: str) -> Finding:
    """Return the finding that a complaint of the parser stands for."""
    mark = error.problem_mark or error.context_mark
    complaint = error.problem or "not YAML"
    if "unexpected end of stream" in complaint and error.context_mark is not None:
        mark = error.context_mark
    line, column = (mark.line, mark.column) if mark is not None else (0, 0)
    span = Span(line + 1, column + 1, line + 1, column + 2)
    lines = text.split("\n")
    character = lines[line][column : column + 1] if line < len(lines) else ""
    if "cannot start any token" in complaint and character in _RESERVED:
        message, fix = _RESERVED[character]
        return Finding("syntax", message, span, fix)
    indentation = lines[line][: len(lines[line]) - len(lines[line].lstrip())] if line < len(lines) else ""
    if "\t" in indentation:
        return Finding("syntax", "a tab indents this line", span, "Indent with spaces.")
    for mistake in _MISTAKES:
        if mistake.complaint in complaint:
            return Finding("syntax", mistake.message, span, mistake.fix)
    return Finding("syntax", complaint, span)
