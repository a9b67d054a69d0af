"""Plain values of nodes, whatever these are: what has the wrong shape reads as missing.

For those who build typed trees. Text is what the language makes of a value where it asks for text: a number is written
in its shortest form there, so ``3.10`` becomes ``3.1``.
"""

from ostler.protocol.v1.program import Scalar
from ostler.workflow.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode
from ostler.workflow.scalars import as_text

_OPENS = "${{"


def get(node: Node | None, key: str) -> Node | None:
    """Return what stands below a key of a mapping."""
    return node.get(key) if isinstance(node, MappingNode) else None


def entries(node: Node | None) -> tuple[Entry, ...]:
    """Return the entries of a mapping."""
    return node.entries if isinstance(node, MappingNode) else ()


def text(node: Node | None) -> str:
    """Return a single value as text."""
    return as_text(node.value) if isinstance(node, ScalarNode) else ""


def texts(node: Node | None) -> tuple[str, ...]:
    """Return a list of texts, of which a single one may stand for itself."""
    if isinstance(node, SequenceNode):
        return tuple(text(item) for item in node.items if isinstance(item, ScalarNode))
    return (text(node),) if isinstance(node, ScalarNode) and node.value is not None else ()


def is_template(node: Node | None) -> bool:
    """Whether expressions stand within a single value."""
    return isinstance(node, ScalarNode) and isinstance(node.value, str) and _OPENS in node.text


def get_flag(node: Node | None, key: str) -> bool:
    """Return what a key says; false where it says nothing."""
    found = get(node, key)
    return isinstance(found, ScalarNode) and (found.value is True or found.text == "true")


def flag_or_template(node: Node | None, *, default: bool) -> bool | str:
    """Return true, false or the template that yields it."""
    if isinstance(node, ScalarNode) and (isinstance(node.value, bool) or is_template(node)):
        return node.value if isinstance(node.value, bool) else node.text
    return default


def number_or_template(node: Node | None) -> float | str | None:
    """Return a number or the template that yields it."""
    if isinstance(node, ScalarNode) and isinstance(node.value, float):
        return node.value
    return node.text if isinstance(node, ScalarNode) and is_template(node) else None


def variables(node: Node | None) -> dict[str, Scalar] | str:
    """Return single values by name, or one template that yields them."""
    if isinstance(node, ScalarNode) and is_template(node):
        return node.text
    return {entry.key.text: entry.value.value for entry in entries(node) if isinstance(entry.value, ScalarNode)}


def value(node: Node) -> object:
    """Return a value with all below it."""
    if isinstance(node, ScalarNode):
        return node.value
    if isinstance(node, SequenceNode):
        return [value(item) for item in node.items]
    return {entry.key.text: value(entry.value) for entry in node}
