"""Files that are nearly right: valid ones with a value taken out, put elsewhere, renamed or replaced, from a seed."""

import copy
import json
import math
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final, TypeAlias, cast

from ostler.workflow.nodes import Node, ScalarNode, SequenceNode
from ostler.workflow.reader import read
from tests.oracles.workflows.corpus import Sample

Tree: TypeAlias = "dict[str, Tree] | list[Tree] | str | float | bool | None"
_Path: TypeAlias = tuple[str | int, ...]

_VALUES: Final[tuple[Tree, ...]] = (
    *(None, "", [], {}, "x", True, 1, -1, 0.5, "true", "0x10", "1e3"),
    *([1], ["x"], {"x": 1}, [[]], [{}], {"a": None}),
    *("${{ github.sha }}", "${{ env.X }}", "${{ x }}", "${{ secrets.A }}", "${{ needs.a.result }}"),
    *("a ${{ matrix.a }} b", "${{ fromJSON('[]') }}", "${{ success() }}", "${{ steps.a.outputs.b }}"),
    *(["${{ github.sha }}"], {"${{ github.sha }}": "x"}),
)


def mutations(bases: Sequence[Sample], random: Random, count: int) -> Iterator[Sample]:
    """Yield altered files."""
    trees = [(base, _tree(root)) for base in bases if (root := read(base.name, base.content.encode()).root)]
    keys = sorted({key for _, tree in trees for path in _paths(tree) for key in path if isinstance(key, str)})
    for at in range(count):
        base, tree = random.choice(trees)
        altered = copy.deepcopy(tree)
        for _ in range(random.choice((1, 1, 1, 2))):
            _alter(altered, random, keys)
        yield Sample(f"{base.name}#{at}", base.kind, json.dumps(altered, indent=1))


def _alter(tree: Tree, random: Random, keys: Sequence[str]) -> None:
    paths = [path for path in _paths(tree) if path]
    if not paths:
        return
    path = random.choice(paths)
    owner = _at(tree, path[:-1])
    if isinstance(owner, list):
        at = cast("int", path[-1])
        owner[at] = copy.deepcopy(random.choice((*_VALUES, _at(tree, random.choice(paths)))))
    elif isinstance(owner, dict):
        key = cast("str", path[-1])
        match random.randrange(5):
            case 0:
                del owner[key]
            case 1:
                owner[key] = copy.deepcopy(random.choice(_VALUES))
            case 2:
                owner[random.choice(keys)] = owner.pop(key)
            case 3:
                owner[key] = copy.deepcopy(_at(tree, random.choice(paths)))
            case _:
                owner[random.choice(keys)] = copy.deepcopy(random.choice(_VALUES))


def _tree(node: Node) -> Tree:
    if isinstance(node, ScalarNode):
        value = node.value
        whole = isinstance(value, float) and math.isfinite(value) and value.is_integer()
        return int(value) if whole and isinstance(value, float) else value
    if isinstance(node, SequenceNode):
        return [_tree(item) for item in node.items]
    return {entry.key.text: _tree(entry.value) for entry in node}


def _paths(tree: Tree, path: _Path = ()) -> Iterator[_Path]:
    yield path
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _paths(value, (*path, key))
    elif isinstance(tree, list):
        for at, value in enumerate(tree):
            yield from _paths(value, (*path, at))


def _at(tree: Tree, path: _Path) -> Tree:
    for key in path:
        tree = cast("dict[str | int, Tree]", tree)[key]
    return tree
