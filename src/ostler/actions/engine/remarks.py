"""What a step says to people beside its log: annotations and a summary, bounded.

Bounds are wide: nobody reads a thousand annotations of one step, but the message that carries them must stay sendable.
"""

import os.path
from collections.abc import Callable, Mapping
from typing import Final

from ostler.protocol.v1.runner_messages import Annotation

MOST: Final = 1_000
MOST_BYTES: Final = 256 << 10
LONGEST_MESSAGE: Final = 16 << 10
LARGEST_SUMMARY: Final = 1 << 20


class Remarks:
    """The remarks of one step as the list shows it; those of steps inside a composite action count for it."""

    def __init__(self) -> None:
        self._annotations: list[Annotation] = []
        self._bytes = 0
        self.left_out = 0
        self._summary: list[str] = []
        self.summary_bytes = 0

    def add(self, annotation: Annotation) -> None:
        """Keep one, if there is room."""
        size = len(annotation.message) + len(annotation.title) + len(annotation.file)
        if len(self._annotations) >= MOST or self._bytes + size > MOST_BYTES:
            self.left_out += 1
            return
        self._bytes += size
        self._annotations.append(annotation)

    def summarize(self, text: str) -> bool:
        """Add to the summary; say whether there was room."""
        size = len(text.encode())
        if self.summary_bytes + size > LARGEST_SUMMARY:
            return False
        self.summary_bytes += size
        self._summary.append(text)
        return True

    def annotations(self, masked: Callable[[str], str]) -> tuple[Annotation, ...]:
        """Return them without secrets."""
        return tuple(
            Annotation(
                level=one.level,
                message=masked(one.message),
                title=masked(one.title),
                file=masked(one.file),
                line=one.line,
                end_line=one.end_line,
                column=one.column,
                end_column=one.end_column,
            )
            for one in self._annotations
        )

    def summary(self, masked: Callable[[str], str]) -> str:
        """Return the whole summary without secrets."""
        return masked("".join(self._summary))


def annotation(level: str, message: str, properties: Mapping[str, str], workspace: str) -> Annotation:
    """Return what a command ``::error file=…,line=…::`` says; what cannot be a line or column is left out."""
    told = {key.lower(): value for key, value in properties.items()}
    line, end_line = _number(told.get("line")), _number(told.get("endline"))
    column, end_column = _number(told.get("col") or told.get("column")), _number(told.get("endcolumn"))
    line = line or end_line
    if end_line and end_line < line:
        end_line = 0
    if not line or (end_line and end_line != line):
        column = end_column = 0  # columns mean something within one line only
    column = column or end_column
    return Annotation(
        level="error" if level == "error" else "warning" if level == "warning" else "notice",
        message=message[:LONGEST_MESSAGE],
        title=told.get("title", "")[:LONGEST_MESSAGE],
        file=relative(told.get("file", ""), workspace)[:LONGEST_MESSAGE],
        line=line,
        end_line=end_line,
        column=column,
        end_column=max(column, end_column) if end_column else 0,
    )


def relative(file: str, workspace: str) -> str:
    """Return how people name a file of the workspace."""
    if not file.startswith("/"):
        return file.removeprefix("./")
    inside = os.path.normpath(file)
    return inside.removeprefix(f"{workspace}/")


def _number(text: str | None) -> int:
    return int(text) if text and text.strip().isdecimal() and len(text) < 10 else 0
