"""What is wrong in a file, and where: the one form in which reader and checks report."""

from typing import Literal, NamedTuple, TypeAlias

import msgspec

Severity: TypeAlias = Literal["error", "warning", "hint"]
"""An error keeps a file from running; a warning does not, yet is a mistake; a hint may be meant as it is."""


class Span(NamedTuple):
    """A stretch of a file; lines and columns count from 1 in characters, the end is the first place after it."""

    line: int
    column: int
    end_line: int
    end_column: int


class Finding(msgspec.Struct, frozen=True):
    """One mistake."""

    rule: str
    message: str
    span: Span
    fix: str = ""
    severity: Severity = "error"
