"""The jobs of a matrix: the product of its vectors, less what is excluded, with what is included.

The first vector changes slowest. An inclusion adds its values to every combination that agrees with it on the vectors'
own keys; it may overwrite what another inclusion added, never what the vectors say. One that agrees with none is a job
of its own, which no later inclusion extends. Values are compared as ``==`` does, mappings and lists leaf by leaf.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, cast

from ostler.expr.values import Value, as_text, equal
from ostler.workflow.run.errors import Misconfigured

MOST_CELLS: Final = 10_000
"""How many jobs one matrix may have: GitHub allows 256."""
_MOST_COMBINATIONS: Final = 100_000
_MOST_COMPARISONS: Final = 2_000_000

Combination: TypeAlias = dict[str, Value]
_Leaf: TypeAlias = tuple[tuple[str | int, ...], Value]


class Cell(NamedTuple):
    """One job of a matrix."""

    values: Combination
    segments: tuple[str, ...]
    """What its name is told apart by: its own values, without those that an inclusion added."""


class _Filter(NamedTuple):
    leaves: tuple[_Leaf, ...]

    def agrees(self, combination: Combination) -> bool:
        return all(equal(_at(combination, path), value) for path, value in self.leaves)


class _Inclusion(NamedTuple):
    filter: _Filter
    own: Combination
    extra: Combination


def expand(matrix: Value) -> list[Cell]:
    """Return the jobs of a matrix, whose expressions have their values; none if everything is excluded."""
    if not isinstance(matrix, Mapping):
        raise Misconfigured("strategy.matrix: it is no mapping")
    vectors = _vectors(matrix)
    included = _items(matrix, "include")
    if not vectors and not included:
        raise Misconfigured("strategy.matrix: it defines no values")
    size = math.prod(len(vector) for vector in vectors.values()) if vectors else 0
    excluded = _exclusions(vectors, _items(matrix, "exclude"))
    inclusions = [_inclusion(vectors, item) for item in included]
    if size > _MOST_COMBINATIONS or size * (len(excluded) + len(inclusions)) > _MOST_COMPARISONS:
        raise Misconfigured(f"strategy.matrix: {size} combinations are too many to be expanded")
    cells: list[Cell] = []
    used = [False] * len(inclusions)
    for combination in _product(vectors) if vectors else ():
        if any(exclusion.agrees(combination) for exclusion in excluded):
            continue
        segments = tuple(_segments(combination))
        values = dict(combination)
        for at, inclusion in enumerate(inclusions):
            if inclusion.filter.agrees(combination):
                used[at] = True
                values.update(inclusion.extra)
        cells.append(Cell(values, segments))
    for at, inclusion in enumerate(inclusions):
        if not used[at]:
            values = inclusion.own | inclusion.extra
            cells.append(Cell(values, tuple(_segments(values))))
    if len(cells) > MOST_CELLS:
        raise Misconfigured(f"strategy.matrix: {len(cells)} jobs are more than {MOST_CELLS}")
    return cells


def _vectors(matrix: Mapping[str, Value]) -> dict[str, list[Value]]:
    vectors: dict[str, list[Value]] = {}
    for key, value in matrix.items():
        if key.lower() in ("include", "exclude"):
            continue
        if not isinstance(value, list):
            raise Misconfigured(f"strategy.matrix.{key}: it is no list")
        if not value:
            raise Misconfigured(f"strategy.matrix.{key}: the list is empty")
        vectors[key] = value
    return vectors


def _items(matrix: Mapping[str, Value], name: str) -> list[Mapping[str, Value]]:
    value = next((value for key, value in matrix.items() if key.lower() == name), None)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Misconfigured(f"strategy.matrix.{name}: it is no list")
    for item in value:
        if not isinstance(item, Mapping) or not item:
            raise Misconfigured(f"strategy.matrix.{name}: an item of it is no mapping with values")
    return cast("list[Mapping[str, Value]]", value)


def _exclusions(vectors: Mapping[str, Sequence[Value]], items: list[Mapping[str, Value]]) -> list[_Filter]:
    keys = {key.lower(): key for key in vectors}
    for item in items:
        unknown = next((key for key in item if key.lower() not in keys), None)
        if unknown is not None:
            raise Misconfigured(f"strategy.matrix.exclude: {unknown!r} is no key of the matrix")
    return [_Filter(tuple(_leaves({keys[key.lower()]: value for key, value in item.items()}))) for item in items]


def _inclusion(vectors: Mapping[str, Sequence[Value]], item: Mapping[str, Value]) -> _Inclusion:
    keys = {key.lower(): key for key in vectors}
    own = {keys[key.lower()]: value for key, value in item.items() if key.lower() in keys}
    extra = {key: value for key, value in item.items() if key.lower() not in keys}
    return _Inclusion(_Filter(tuple(_leaves(own))), own, extra)


def _product(vectors: Mapping[str, list[Value]]) -> Iterator[Combination]:
    for values in itertools.product(*vectors.values()):
        yield dict(zip(vectors, values, strict=True))


def _leaves(value: Value, path: tuple[str | int, ...] = ()) -> Iterator[_Leaf]:
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _leaves(below, (*path, key))
    elif isinstance(value, list):
        for at, below in enumerate(value):
            yield from _leaves(below, (*path, at))
    else:
        yield path, value


def _at(value: Value, path: tuple[str | int, ...]) -> Value:
    """Return what stands at a path; nothing where it leads nowhere."""
    for key in path:
        if isinstance(value, Mapping) and isinstance(key, str):
            value = _get(value, key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value


def _get(mapping: Mapping[str, Value], key: str) -> Value:
    if key in mapping:
        return mapping[key]
    return next((value for name, value in mapping.items() if name.lower() == key.lower()), None)


def _segments(value: Value) -> Iterator[str]:
    for _, leaf in _leaves(value):
        if leaf is not None:
            yield as_text(leaf)
