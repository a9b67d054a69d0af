"""The first pass: whether each value has the shape that its place asks for.

It walks a file along the shapes of the language and gathers, for the passes after it, every place where an expression
stands, with what that expression may use.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from ostler.expr.spelling import nearest
from ostler.workflow.findings import Finding, Span
from ostler.workflow.language.scopes import NOWHERE, Scope, joined
from ostler.workflow.language.shapes import (
    Anything,
    Either,
    Flag,
    ListOf,
    Null,
    Number,
    Shape,
    Table,
    Text,
    Variants,
)
from ostler.workflow.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode

Path: TypeAlias = tuple[str | int, ...]
"""Keys and positions from the top of a file."""

OPENS: Final = "${{"
_ANYTHING: Final = Anything()
_CHOICES_SHOWN: Final = 12


class Site(NamedTuple):
    """A value that holds expressions, or is one."""

    node: ScalarNode
    scope: Scope
    path: Path
    condition: bool
    """Whether the whole value is an expression, with or without ``${{ }}``."""


class Walked(NamedTuple):
    """What the walk found."""

    findings: list[Finding]
    sites: list[Site]


def walk(root: Node, shape: Shape) -> Walked:
    """Compare a tree with the shape it should have."""
    walker = _Walker()
    walker.visit(root, shape, NOWHERE, ())
    return Walked(walker.findings, walker.sites)


class _Walker:
    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.sites: list[Site] = []

    def visit(self, node: Node, shape: Shape, outer: Scope, path: Path) -> None:
        """Check one value and all below it."""
        scope = joined(outer, shape.scope)
        if isinstance(node, ScalarNode):
            self._scalar(node, shape, scope, path)
            return
        shapes = tuple(_alternatives(shape))
        if any(isinstance(each, Anything) for each in shapes):
            self._anything(node, scope, path)
        elif isinstance(node, SequenceNode):
            self._sequence(node, shapes, scope, path)
        else:
            self._mapping(node, shapes, scope, path)

    def _report(self, rule: str, message: str, span: Span, fix: str = "") -> None:
        self.findings.append(Finding(rule, message, span, fix))

    def _scalar(self, node: ScalarNode, shape: Shape, scope: Scope, path: Path) -> None:
        condition = isinstance(shape, Text) and shape.condition
        if isinstance(node.value, str) and OPENS in node.text:
            if scope.takes_expressions:
                self.sites.append(Site(node, scope, path, condition))
            else:
                fix = "Write the value itself."
                self._report("expression-place", f"{_place(path)} cannot hold an expression", node.span, fix)
            return
        if condition and node.value is not None:
            self.sites.append(Site(node, scope, path, condition=True))
        mismatch = ""
        for each in _alternatives(shape):
            mismatch = _misfit(node, each)
            if not mismatch:
                return
        self._misfit(node, shape, path, mismatch)

    def _misfit(self, node: ScalarNode, shape: Shape, path: Path, mismatch: str) -> None:
        choices = [choice for each in _alternatives(shape) if isinstance(each, Text) for choice in each.choices]
        place = _place(path)
        if node.value is None or node.text == "":
            self._report("empty-value", f"{place} is empty, and {_expected(shape)} is expected", node.span)
        elif choices:
            known = nearest(node.text, choices)
            listed = ", ".join(choices[:_CHOICES_SHOWN]) + (", …" if len(choices) > _CHOICES_SHOWN else "")
            fix = f"Did you mean {known!r}?" if known else f"It is one of {listed}."
            self._report("unknown-value", f"{place} cannot be {node.text[:60]!r}", node.span, fix)
        else:
            self._report("wrong-type", f"{place} must be {mismatch or _expected(shape)}", node.span, _unquote(node))

    def _sequence(self, node: SequenceNode, shapes: tuple[Shape, ...], scope: Scope, path: Path) -> None:
        expected = next((each for each in shapes if isinstance(each, ListOf)), None)
        if expected is None:
            self._report("wrong-type", f"{_place(path)} must be {_any_of(shapes)}, not a list", node.span)
            return
        if expected.filled and not node.items:
            self._report("empty-value", f"{_place(path)} is an empty list", node.span)
        scope = joined(scope, expected.scope)
        for at, item in enumerate(node.items):
            self.visit(item, expected.item, scope, (*path, at))

    def _mapping(self, node: MappingNode, shapes: tuple[Shape, ...], scope: Scope, path: Path) -> None:
        expected = next((each for each in shapes if isinstance(each, Table | Variants)), None)
        if expected is None:
            self._report("wrong-type", f"{_place(path)} must be {_any_of(shapes)}, not a mapping", node.span)
            return
        scope = joined(scope, expected.scope)
        self._twins(node)
        if isinstance(expected, Variants):
            table = self._variant(node, expected)
            if table is not None:
                self._table(node, table, joined(scope, table.scope), path, expected)
        else:
            self._table(node, expected, scope, path, None)

    def _variant(self, node: MappingNode, expected: Variants) -> Table | None:
        """Return which table is meant, and report where two are, or none."""
        keys = [entry.key.text for entry in node]
        meant = [variant for variant in expected.variants if variant.key in keys]
        if not meant:
            if expected.otherwise is not None:
                return expected.otherwise
            wanted = [variant.key for variant in expected.variants]
            unknown = next((near for key in keys if (near := nearest(key, wanted))), "")
            fix = f"Did you mean {unknown!r}?" if unknown else ""
            self._report("missing-key", f"{expected.noun} needs one of {_listed(wanted)}", node.span, fix)
            return None
        first = meant[0]
        for other in meant[1:]:
            entry = next(entry for entry in node if entry.key.text == other.key)
            message = f"{expected.noun} has either {first.key!r} or {other.key!r}, not both"
            self._report("conflicting-keys", message, entry.key.span, "Make two of it, or remove one key.")
        return first.table

    def _table(self, node: MappingNode, table: Table, scope: Scope, path: Path, variants: Variants | None) -> None:
        missing = [name for name, key in table.keys.items() if key.required and node.get(name) is None]
        expressions = False
        for entry in node:
            below = (*path, entry.key.text)
            if OPENS in entry.key.text and isinstance(entry.key.value, str):
                expressions = True
                self._computed_key(entry, scope, below)
            elif (key := table.keys.get(entry.key.text)) is not None:
                self.visit(entry.value, key.shape, scope, below)
            elif entry.key.text in table.idle:
                self._idle(entry, table)
            elif table.others is None:
                self._unknown(entry, table, variants, missing)
            elif not entry.key.text:
                self._report("empty-value", f"a key of {table.noun} is empty", entry.key.span)
            else:
                self.visit(entry.value, table.others, scope, below)
        for name in () if expressions else missing:
            self._report("missing-key", f"{table.noun} needs the key {name!r}", node.span, f"Add `{name}:`.")
        if table.filled and not node.entries:
            self._report("empty-value", f"{table.noun} is empty", node.span)

    def _idle(self, entry: Entry, table: Table) -> None:
        message = f"{table.noun} knows no {entry.key.text!r}, so it is ignored"
        fix = "Remove it; what it was to keep out can be kept out by `if` of the jobs."
        self.findings.append(Finding("filter-ignored", message, entry.key.span, fix, "warning"))

    def _unknown(self, entry: Entry, table: Table, variants: Variants | None, missing: list[str]) -> None:
        name = entry.key.text
        others = () if variants is None else variants.variants
        if any(variant.key == name for variant in others) and variants is not None:
            if not any(finding.span == entry.key.span for finding in self.findings):
                self._report("conflicting-keys", f"{name!r} cannot stand in {table.noun}", entry.key.span)
            return
        tables = [variant.table for variant in others]
        if variants is not None and variants.otherwise is not None:
            tables.append(variants.otherwise)
        owner = next((other for other in tables if other is not table and name in other.keys), None)
        if owner is not None:
            message, fix = f"{name!r} cannot stand in {table.noun}", f"It belongs to {owner.noun}."
        else:
            known = nearest(name, missing) or nearest(name, table.keys)
            message = f"{table.noun} has no key {name[:60]!r}"
            fix = (
                f"Did you mean {known!r}?"
                if known
                else f"Its keys are {_listed(list(table.keys))}."
                if table.keys
                else ""
            )
        self._report("unknown-key", message, entry.key.span, fix)

    def _computed_key(self, entry: Entry, scope: Scope, path: Path) -> None:
        if not scope.takes_expressions:
            self._report("expression-place", "this key cannot be an expression", entry.key.span, "Write it out.")
            return
        if entry.key.text.replace(" ", "") != "${{insert}}":
            self.sites.append(Site(entry.key, scope, path, condition=False))
        self.visit(entry.value, _ANYTHING, scope, path)

    def _anything(self, node: SequenceNode | MappingNode, scope: Scope, path: Path) -> None:
        if isinstance(node, SequenceNode):
            for at, item in enumerate(node.items):
                self.visit(item, _ANYTHING, scope, (*path, at))
            return
        self._twins(node)
        for entry in node:
            self.visit(entry.value, _ANYTHING, scope, (*path, entry.key.text))

    def _twins(self, node: MappingNode) -> None:
        """Report keys that differ only by case: the language does not tell them apart."""
        seen: dict[str, Entry] = {}
        for entry in node:
            first = seen.setdefault(entry.key.text.upper(), entry)
            if first is not entry:
                message = (
                    f"the key {entry.key.text!r} stands on line {first.key.span.line} already,"
                    " and case makes no difference"
                )
                self._report("duplicate-key", message, entry.key.span, "Remove one of them.")


def _alternatives(shape: Shape) -> Iterator[Shape]:
    if isinstance(shape, Either):
        for each in shape.shapes:
            yield from _alternatives(each)
    else:
        yield shape


def _misfit(node: ScalarNode, shape: Shape) -> str:
    """Return what was expected instead of a single value; nothing if it fits."""
    if isinstance(shape, Anything):
        return ""
    if isinstance(shape, Text):
        fits = node.text in shape.choices if shape.choices else bool(_filled(node)) or not shape.filled
        return "" if fits else _expected(shape)
    if isinstance(shape, Flag):
        return "" if isinstance(node.value, bool) else _expected(shape)
    if isinstance(shape, Number):
        if not isinstance(node.value, float):
            return _expected(shape)
        return "" if shape.least is None or node.value >= shape.least else f"at least {shape.least:g}"
    if isinstance(shape, Null):
        return "" if node.value is None else _expected(shape)
    return _expected(shape)


def _filled(node: ScalarNode) -> str:
    return "" if node.value is None else node.text


def _expected(shape: Shape) -> str:
    """Return in words what a shape stands for."""
    match shape:
        case Text():
            return "one of " + ", ".join(shape.choices) if 0 < len(shape.choices) <= _CHOICES_SHOWN else "text"
        case Flag():
            return "true or false"
        case Number():
            return "a number"
        case Null():
            return "nothing"
        case ListOf():
            return "a list"
        case Table() | Variants():
            return "a mapping"
        case Either():
            return _any_of(tuple(_alternatives(shape)))
        case Anything():
            return "a value"


def _any_of(shapes: tuple[Shape, ...]) -> str:
    words = list(dict.fromkeys(_expected(shape) for shape in shapes if not isinstance(shape, Null)))
    return " or ".join(words) or "nothing"


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _place(path: Path) -> str:
    """Return a short name for a place: its key, or which item of a list it is."""
    if not path:
        return "the file"
    last = path[-1]
    if isinstance(last, str):
        return f"{last[:60]!r}"
    owner = next((key for key in reversed(path) if isinstance(key, str)), "")
    return f"an item of {owner!r}"


def _unquote(node: ScalarNode) -> str:
    if node.style in ("'", '"') and node.text in ("true", "false"):
        return "Remove the quotes."
    return ""
