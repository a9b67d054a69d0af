"""A YAML file as a tree in which every node knows where it stands.

Keys are scalars, so a path of keys leads to every place. A node that is reached through an alias is the same object as
the one with the anchor: a file of aliases costs no more memory than its text.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from ostler.workflow.findings import Span

Style: TypeAlias = Literal["", "'", '"', "|", ">"]
"""How a scalar is written; nothing stands for plain."""


class ScalarNode(msgspec.Struct, frozen=True, kw_only=True):
    """A single value. ``text`` is what was written, ``value`` what it means; every number is a double."""

    span: Span
    text: str
    value: bool | float | str | None
    style: Style = ""


class SequenceNode(msgspec.Struct, frozen=True, kw_only=True):
    """A list."""

    span: Span
    items: tuple["Node", ...]


class Entry(msgspec.Struct, frozen=True):
    """One key of a mapping with its value."""

    key: ScalarNode
    value: "Node"


class MappingNode(msgspec.Struct, frozen=True, kw_only=True):
    """Keys with their values, in the order of the file; no key stands twice."""

    span: Span
    entries: tuple[Entry, ...]

    def get(self, key: str) -> "Node | None":
        """Return the value of a key, None where it is missing."""
        return next((entry.value for entry in self.entries if entry.key.text == key), None)

    def __iter__(self) -> Iterator[Entry]:
        """Go through the entries in the order of the file."""
        return iter(self.entries)


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode
