"""``strategy.matrix``: vectors with values, excludes that can match, includes that say something."""

from collections.abc import Iterator
from typing import Final

from ostler.expr.spelling import did_you_mean
from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet
from ostler.workflow.findings import Finding
from ostler.workflow.nodes import Entry, MappingNode, Node, SequenceNode

MOST_AT_GITHUB: Final = 256
_OWN: Final = ("include", "exclude")


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check the matrix of each job as far as it is written out."""
    for job in sheet.jobs:
        matrix = plain.get(job.node.get("strategy"), "matrix")
        if isinstance(matrix, MappingNode):
            yield from _matrix(matrix)


def _matrix(matrix: MappingNode) -> Iterator[Finding]:
    if any("${{" in entry.key.text for entry in matrix):
        return
    vectors = [entry for entry in matrix if entry.key.text.lower() not in _OWN]
    if not vectors and (matrix.get("include") is None or _is_empty(matrix.get("include"))):
        yield Finding("matrix-empty", "the matrix has neither values nor `include`", matrix.span, "Add a key to it.")
        return
    for vector in vectors:
        if _is_empty(vector.value):
            message = f"the matrix has no value for {vector.key.text!r}"
            yield Finding("matrix-empty", message, vector.value.span, "Add one, or remove the key.")
        elif isinstance(vector.value, SequenceNode):
            yield from _repeated(vector, vector.value)
    for item in _combinations(matrix.get("include")):
        if not item.entries:
            yield Finding("matrix-include", "this combination is empty", item.span, "Add keys, or remove it.")
    yield from _excludes(matrix, vectors)
    yield from _size(matrix, vectors)


def _excludes(matrix: MappingNode, vectors: list[Entry]) -> Iterator[Finding]:
    known = {entry.key.text.lower(): entry for entry in vectors}
    for item in _combinations(matrix.get("exclude")):
        if not item.entries:
            yield Finding("matrix-exclude", "this combination is empty", item.span, "Add keys, or remove it.")
        for entry in item:
            vector = known.get(entry.key.text.lower())
            if "${{" in entry.key.text:
                continue
            if vector is None:
                message = f"the matrix has no key {entry.key.text!r} that could be left out"
                fix = did_you_mean(entry.key.text, [each.key.text for each in vectors])
                yield Finding("matrix-exclude", message, entry.key.span, fix)
            elif not _may_match(entry.value, vector.value):
                message = f"no value of {entry.key.text!r} is {plain.text(entry.value)!r}, so this leaves nothing out"
                fix = did_you_mean(plain.text(entry.value), plain.texts(vector.value))
                yield Finding("matrix-exclude-unmatched", message, entry.value.span, fix, "warning")


def _may_match(wanted: Node, vector: Node) -> bool:
    """Whether a value of a vector may be the wanted one; parts of objects and expressions may always be."""
    if not isinstance(vector, SequenceNode) or isinstance(wanted, MappingNode | SequenceNode):
        return True
    if plain.is_template(wanted) or any(
        plain.is_template(item) or isinstance(item, MappingNode | SequenceNode) for item in vector.items
    ):
        return True
    return plain.text(wanted).lower() in [plain.text(item).lower() for item in vector.items]


def _repeated(vector: Entry, values: SequenceNode) -> Iterator[Finding]:
    seen: list[object] = []
    for item in values.items:
        value = plain.value(item)
        if value in seen and not plain.is_template(item):
            message = f"{vector.key.text!r} has this value already, so its jobs run twice"
            yield Finding("matrix-repeated", message, item.span, "Remove one of them.", "hint")
        seen.append(value)


def _size(matrix: MappingNode, vectors: list[Entry]) -> Iterator[Finding]:
    size = 1
    for vector in vectors:
        if isinstance(vector.value, SequenceNode):
            size *= len(vector.value.items)
    if size > MOST_AT_GITHUB and not _combinations(matrix.get("exclude")):
        message = f"the matrix makes {size:,} jobs, of which GitHub would refuse all: it allows {MOST_AT_GITHUB}"
        yield Finding("matrix-size", message, matrix.span, "Ostler has no such limit.", "hint")


def _is_empty(node: Node | None) -> bool:
    return isinstance(node, SequenceNode) and not node.items


def _combinations(node: Node | None) -> list[MappingNode]:
    return [item for item in node.items if isinstance(item, MappingNode)] if isinstance(node, SequenceNode) else []
