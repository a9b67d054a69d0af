"""Contexts of expressions from a file: JSON, or YAML by the rules of workflow files."""

from collections.abc import Mapping
from typing import BinaryIO, Final

from ostler.cli.errors import ContextUnreadable
from ostler.expr.errors import ExpressionError
from ostler.expr.json_text import MAX_NESTING, from_json
from ostler.expr.values import Value
from ostler.workflow.scalars import as_text, resolved

MOST_NODES: Final = 500_000
"""Values of a YAML file when each alias is written out."""

_STANDARD_INPUT = "<stdin>"
_QUOTED = frozenset("'\"|>")


def read_contexts(file: BinaryIO) -> Mapping[str, Value]:
    """Return what a file gives: contexts by their names."""
    name = str(getattr(file, "name", _STANDARD_INPUT)).replace(_STANDARD_INPUT, "standard input")
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ContextUnreadable(f"{name} is not UTF-8") from error
    try:
        found: Value = from_json(text) if text.strip() else {}
    except ExpressionError as error:
        found = _from_yaml(text, name, error)
    if not isinstance(found, Mapping):
        fix = 'Write an object whose keys are the names of contexts: {"github": {"ref": "refs/heads/main"}}.'
        raise ContextUnreadable(f"{name} holds no object", fix=fix)
    return found


def _from_yaml(text: str, name: str, no_json: ExpressionError) -> Value:
    import yaml

    nodes = 0

    def scalar(node: yaml.ScalarNode) -> bool | float | str | None:
        return str(node.value) if node.style in _QUOTED else resolved(node.value)

    def value(node: yaml.Node | None, depth: int) -> Value:
        nonlocal nodes
        nodes += 1
        if depth > MAX_NESTING or nodes > MOST_NODES:
            raise ContextUnreadable(f"{name} is nested too deeply or grows too large")
        if isinstance(node, yaml.MappingNode):
            return {key(name): value(item, depth + 1) for name, item in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [value(item, depth + 1) for item in node.value]
        if not isinstance(node, yaml.ScalarNode):
            return None
        return scalar(node)

    def key(node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise ContextUnreadable(f"{name}: a key is no single value")
        return as_text(scalar(node))

    try:
        return value(yaml.compose(text, yaml.CSafeLoader), 0)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or str(error)
        raise ContextUnreadable(f"{name} is neither JSON ({no_json.message}) nor YAML ({problem})") from error
