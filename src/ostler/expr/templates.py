"""Text in which expressions stand between ``${{`` and ``}}``, the conditions of ``if:``, and values full of both."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

from ostler.expr.errors import ExpressionNotClosed, WrongArgument
from ostler.expr.evaluation import Scope, evaluate
from ostler.expr.functions import STATUS_FUNCTIONS
from ostler.expr.json_text import MAX_TEXT, too_large
from ostler.expr.nodes import Call, Literal, Logical, Node, calls
from ostler.expr.parser import parse
from ostler.expr.values import OBJECT, Value, as_text, kind

OPENS: Final = "${{"
_CLOSES: Final = "}}"
_INSERT: Final = "insert"
_STRING_OR_END = re.compile(r"'[^']*+'|'|\}\}")


class Template:
    """A text cut into plain pieces and expressions."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[str | Node, ...]) -> None:
        self.parts = parts

    @classmethod
    def parse(cls, text: str) -> "Template":
        """Cut a text; offsets of nodes and errors are those of the text."""
        parts: list[str | Node] = []
        here = 0
        while (opening := text.find(OPENS, here)) >= 0:
            if opening > here:
                parts.append(text[here:opening])
            begin = opening + len(OPENS)
            closing = _closing(text, opening)
            parts.append(parse(text, begin, closing))
            here = closing + len(_CLOSES)
        if here < len(text) or not parts:
            parts.append(text[here:])
        return cls(tuple(parts))

    @property
    def is_plain(self) -> bool:
        """Whether no expression stands in the text."""
        return all(isinstance(part, str) for part in self.parts)

    @property
    def expressions(self) -> tuple[Node, ...]:
        """The expressions, in the order of the text."""
        return tuple(part for part in self.parts if not isinstance(part, str))

    def value(self, scope: Scope) -> Value:
        """Return what the text becomes: a value of any kind if it is one sole expression, else text."""
        sole = self.parts[0]
        if len(self.parts) == 1 and not isinstance(sole, str):
            return evaluate(sole, scope)
        return self.text(scope)

    def text(self, scope: Scope) -> str:
        """Return what the text becomes as text."""
        texts = [part if isinstance(part, str) else as_text(evaluate(part, scope)) for part in self.parts]
        if sum(map(len, texts)) > MAX_TEXT and not self.is_plain:
            raise too_large("the text")
        return "".join(texts)


def _closing(text: str, opening: int) -> int:
    """Return where the ``}}`` stands that ends an expression: not the one within a string."""
    for match in _STRING_OR_END.finditer(text, opening + len(OPENS)):
        if match[0] == _CLOSES:
            return match.start()
        if match[0] == "'":
            raise _not_closed(text, opening, "Close it with }}; a single quote within a string is written ''.")
    raise _not_closed(text, opening, "Close it with }}.")


def _not_closed(text: str, opening: int, fix: str) -> ExpressionNotClosed:
    return ExpressionNotClosed("${{ is never closed", opening, len(text), expected="}}", fix=fix)


def condition(text: str | None) -> Node:
    """Parse the condition of an ``if:``.

    It is an expression with or without ``${{ }}``. Any text around ``${{ }}`` makes it a text, which is always true.
    Where no status function is called in it, it only holds if all went well before.
    """
    if text is None or not text.strip():
        return Call("success", (), 0, len(text or ""))
    node = bare_condition(text)
    if calls(node, *STATUS_FUNCTIONS):
        return node
    success = Call("success", (), node.start, node.start)
    return Logical("&&", (success, node), node.start, node.end)


def bare_condition(text: str) -> Node:
    """Parse a condition that is meant as it is: that of ``pre-if:`` and ``post-if:`` in the file of an action."""
    return _template_node(Template.parse(text), len(text)) if OPENS in text else parse(text)


def _template_node(template: Template, length: int) -> Node:
    """Return a template as one expression, as ``format`` would write it."""
    sole = template.parts[0]
    if len(template.parts) == 1 and not isinstance(sole, str):
        return sole
    pieces: list[str] = []
    arguments: list[Node] = []
    for part in template.parts:
        if isinstance(part, str):
            pieces.append(part.replace("{", "{{").replace("}", "}}"))
        else:
            pieces.append(f"{{{len(arguments)}}}")
            arguments.append(part)
    return Call("format", (Literal("".join(pieces), 0, length), *arguments), 0, length)


def resolve(raw: Value, scope: Scope) -> Value:
    """Return a value in which every text was a template, with all of them filled in.

    The key ``${{ insert }}`` stands for the entries of the object that is its value.
    """
    if isinstance(raw, str):
        return Template.parse(raw).value(scope) if OPENS in raw else raw
    if isinstance(raw, Mapping):
        return _resolve_object(raw, scope)
    if isinstance(raw, Sequence):
        return [resolve(item, scope) for item in raw]
    return raw


def _resolve_object(raw: Mapping[str, Value], scope: Scope) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for key, item in raw.items():
        value = resolve(item, scope)
        if OPENS not in key:
            found[key] = value
        elif key.removeprefix(OPENS).removesuffix(_CLOSES).strip() == _INSERT:
            if kind(value) != OBJECT:
                raise WrongArgument("only an object can be inserted", expected="an object")
            found.update(cast("Mapping[str, Value]", value))
        else:
            found[Template.parse(key).text(scope)] = value
    return found
