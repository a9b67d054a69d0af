"""Reading YAML: bytes in, a tree with places out, and findings instead of exceptions.

Anchors and aliases work as in YAML. Merge keys (``<<``), tags outside of the core schema, a second document, keys that
are no scalars and keys that stand twice are findings. Size, depth and what aliases expand to are bounded, so no file
can exhaust the memory of who reads it.
"""

from collections.abc import Iterator
from typing import Final, NoReturn, cast

import msgspec
import yaml

from ostler.workflow.findings import Finding, Span
from ostler.workflow.mistakes import explained
from ostler.workflow.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode, Style
from ostler.workflow.scalars import CORE, resolved, tagged

LARGEST: Final = 1_048_576
"""Bytes of a file."""
DEEPEST: Final = 100
"""Nodes within nodes."""
MOST_NODES: Final = 500_000
"""Nodes of a file when each alias is written out."""
_HIDDEN: Final = {0x85: 0xF0085, 0x2028: 0xF2028, 0x2029: 0xF2029}
"""What ended a line in YAML 1.1 and does so no more, with the private characters that stand for it meanwhile."""
_SHOWN: Final = {hidden: character for character, hidden in _HIDDEN.items()}
_START: Final = Span(1, 1, 1, 1)
_STYLES: Final[dict[str | None, Style]] = {"'": "'", '"': '"', "|": "|", ">": ">"}


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was read: its text, its tree as far as there is one, and what was wrong with it as YAML."""

    path: str
    text: str
    root: Node | None
    findings: tuple[Finding, ...] = ()


class _Unreadable(Exception):
    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def read(path: str, content: bytes) -> Document:
    """Return what stands in a file. ``root`` is None if it is empty or cannot be read."""
    try:
        text = _decoded(content)
    except _Unreadable as error:
        return Document(path=path, text="", root=None, findings=(error.finding,))
    composer = _Composer()
    try:
        root = composer.document(text)
    except _Unreadable as error:
        return Document(path=path, text=text, root=None, findings=(*composer.findings, error.finding))
    except yaml.MarkedYAMLError as error:
        return Document(path=path, text=text, root=None, findings=(*composer.findings, explained(error, text)))
    except yaml.reader.ReaderError as error:
        return Document(path=path, text=text, root=None, findings=(*composer.findings, _control(error, text)))
    return Document(path=path, text=text, root=root, findings=tuple(composer.findings))


def _decoded(content: bytes) -> str:
    if len(content) > LARGEST:
        _give_up("file-size", f"the file is too large: at most {LARGEST:,} bytes are read", _START)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        _give_up("encoding", "the file is not UTF-8 text", _place(before), "Save it as UTF-8.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _control(error: yaml.reader.ReaderError, text: str) -> Finding:
    at = next((at for at, character in enumerate(text) if ord(character) == error.character), error.position)
    return Finding("syntax", f"a control character (U+{error.character:04X}) cannot stand here", _place(text[:at]))


def _place(before: str) -> Span:
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    return Span(line, column, line, column + 1)


def _give_up(rule: str, message: str, span: Span, fix: str = "") -> NoReturn:
    raise _Unreadable(Finding(rule, message, span, fix))


def _span(event: yaml.Event, end: yaml.Event | None = None) -> Span:
    first = cast("yaml.Mark", event.start_mark)
    last = cast("yaml.Mark", (end or event).end_mark)
    return Span(first.line + 1, first.column + 1, last.line + 1, last.column + 1)


class _Composer:
    """Makes nodes of the events of one file."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._anchors: dict[str, tuple[Node, int] | None] = {}
        self._count = 0

    def document(self, text: str) -> Node | None:
        """Return the root of the only document."""
        if not text.isascii():
            text = text.translate(_HIDDEN)
        events = iter(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        next(events)
        if not isinstance(next(events), yaml.DocumentStartEvent):
            return None
        root = self._node(events, next(events), 1)
        next(events)
        after = next(events)
        if isinstance(after, yaml.DocumentStartEvent):
            fix = "Put each workflow into a file of its own."
            _give_up("syntax", "a second document begins here, and a file holds one", _span(after), fix)
        return root

    def _node(self, events: Iterator[yaml.Event], event: yaml.Event, depth: int) -> Node:
        before = self._count
        self._count += 1
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if self._count > MOST_NODES:
            _give_up("file-size", f"the file has more than {MOST_NODES:,} values", _span(event))
        if depth > DEEPEST:
            _give_up("file-size", f"values are nested deeper than {DEEPEST} levels", _span(event))
        anchor = cast("yaml.NodeEvent", event).anchor
        if anchor is not None:
            self._anchors[anchor] = None
        node = self._made(events, event, depth)
        if anchor is not None:
            self._anchors[anchor] = (node, self._count - before)
        return node

    def _made(self, events: Iterator[yaml.Event], event: yaml.Event, depth: int) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        start = cast("yaml.CollectionStartEvent", event)
        if isinstance(start, yaml.SequenceStartEvent):
            self._check_tag(start, f"{CORE}seq")
            return self._sequence(events, start, depth)
        self._check_tag(start, f"{CORE}map")
        return self._mapping(events, start, depth)

    def _alias(self, event: yaml.AliasEvent) -> Node:
        name = cast("str", event.anchor)
        if name not in self._anchors:
            fix = "" if not self._anchors else f"The anchors before it are: {', '.join(sorted(self._anchors))}."
            _give_up("anchor", f"there is no anchor &{name} before this alias", _span(event), fix)
        known = self._anchors[name]
        if known is None:
            _give_up("anchor", f"the alias *{name} stands within its own anchor", _span(event))
        node, size = known
        self._count += size
        if self._count > MOST_NODES:
            _give_up("file-size", f"the aliases expand to more than {MOST_NODES:,} values", _span(event))
        return node

    def _scalar(self, event: yaml.ScalarEvent) -> ScalarNode:
        text: str = event.value
        if not text.isascii():
            text = text.translate(_SHOWN)
        style = _STYLES.get(event.style, "")
        tag: str | None = event.tag
        value = resolved(text) if not style else text
        if tag == "!":
            value = text
        elif tag is not None:
            try:
                value = tagged(text, tag)
            except ValueError as error:
                fix = "Quote the value if the '!' belongs to it." if not tag.startswith(CORE) else ""
                self.findings.append(Finding("tag", str(error), _span(event), fix))
        return ScalarNode(span=_span(event), text=text, value=value, style=style)

    def _check_tag(self, event: yaml.CollectionStartEvent, allowed: str) -> None:
        tag: str | None = event.tag
        if tag not in (None, "!", allowed):
            self.findings.append(Finding("tag", f"the tag {tag} is not one of the core schema", _span(event)))

    def _sequence(self, events: Iterator[yaml.Event], start: yaml.Event, depth: int) -> SequenceNode:
        items: list[Node] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(self._node(events, event, depth + 1))
        return SequenceNode(span=_span(start, event), items=tuple(items))

    def _mapping(self, events: Iterator[yaml.Event], start: yaml.Event, depth: int) -> MappingNode:
        entries: dict[str, Entry] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key = self._node(events, event, depth + 1)
            value = self._node(events, next(events), depth + 1)
            if not isinstance(key, ScalarNode):
                self.findings.append(Finding("syntax", "a key must be a single value", key.span))
            elif key.text == "<<" and not key.style:
                fix = "Write the keys out, or put the alias where the whole value stands."
                self.findings.append(
                    Finding("merge-key", "merge keys (<<) are not part of the language", key.span, fix)
                )
            elif (first := entries.get(key.text)) is not None:
                message = f"the key {key.text!r} stands here a second time, first on line {first.key.span.line}"
                self.findings.append(Finding("duplicate-key", message, key.span, "Remove one of them."))
            else:
                entries[key.text] = Entry(key, value)
        return MappingNode(span=_span(start, event), entries=tuple(entries.values()))
