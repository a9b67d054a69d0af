"""Values to JSON and back, within bounds: neither a deep nor a large text may exhaust whoever evaluates it."""

import json
import re
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import cast

from ostler.expr.errors import ExpressionTooDeep, OutputTooLarge, WrongArgument
from ostler.expr.values import ARRAY, NUMBER, OBJECT, STRING, Value, as_text, folded, kind

MAX_TEXT = 10 * 1024 * 1024
"""The characters that one function may make of its arguments."""

MAX_NESTING = 100

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def to_json(value: Value) -> str:
    """Return a value as JSON, indented by two blanks, the keys in their order."""
    writer = _Writer()
    writer.write(value, 0)
    return "".join(writer.parts)


def from_json(text: str) -> Value:
    """Return the value that a JSON text stands for."""
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        reason = error.msg[:1].lower() + error.msg[1:]
        message = "the text is empty" if not text.strip() else f"the text is no JSON: {reason} at {place}"
        raise WrongArgument(message, expected="a JSON text") from error
    except RecursionError as error:
        raise _too_deep() from error
    if text.count("[") + text.count("{") > MAX_NESTING:
        _check_nesting(value)
    return value


def quoted(text: str) -> str:
    """Return a string as JSON writes it."""
    written = encode_basestring(text)
    if text.isascii():
        return written
    return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


def too_large(function: str) -> OutputTooLarge:
    """Return the error of a function that would make too much text."""
    message = f"{function} makes more than {MAX_TEXT // 1024 // 1024} MiB of text"
    return OutputTooLarge(message, fix="Pass large data on in files or artifacts.")


def _too_deep() -> ExpressionTooDeep:
    return ExpressionTooDeep(
        f"the value is nested more than {MAX_NESTING} deep", expected=f"at most {MAX_NESTING} levels"
    )


class _Writer:
    __slots__ = ("length", "parts")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0

    def add(self, text: str) -> None:
        self.length += len(text)
        if self.length > MAX_TEXT:
            raise too_large("toJSON")
        self.parts.append(text)

    def write(self, value: Value, level: int) -> None:
        sort = kind(value)
        if sort < ARRAY:
            self.add(_scalar(value, sort))
            return
        if level >= MAX_NESTING:
            raise _too_deep()
        inner = "\n" + "  " * (level + 1)
        if sort == ARRAY:
            opening, closing = "[", "]"
            for item in cast("Sequence[Value]", value):
                self.add(opening + inner)
                self.write(item, level + 1)
                opening = ","
        else:
            opening, closing = "{", "}"
            for key, item in cast("Mapping[str, Value]", value).items():
                self.add(f"{opening}{inner}{quoted(key)}: ")
                self.write(item, level + 1)
                opening = ","
        self.add("\n" + "  " * level + closing if opening == "," else opening + closing)


def _scalar(value: Value, sort: int) -> str:
    if sort == STRING:
        return quoted(cast("str", value))
    return "null" if value is None else as_text(value) if sort == NUMBER else str(value).lower()


def _object(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    """Build an object; of keys that differ only in case the first one counts."""
    found = dict(pairs)
    names = {folded(key) for key in found}
    if len(names) == len(found):
        return found
    kept: dict[str, Value] = {}
    for key, value in found.items():
        if folded(key) in names:
            names.remove(folded(key))
            kept[key] = value
    return kept


def _refuse_constant(name: str) -> Value:
    raise json.JSONDecodeError(f"unexpected {name}", name, 0)


def _check_nesting(value: Value) -> None:
    """Go down level by level, looking at collections only."""
    level: list[Value] = [value]
    for _ in range(MAX_NESTING):
        below: list[Value] = []
        for item in level:
            sort = kind(item)
            if sort == ARRAY:
                below.extend(cast("Sequence[Value]", item))
            elif sort == OBJECT:
                below.extend(cast("Mapping[str, Value]", item).values())
        if not below:
            return
        level = below
    raise _too_deep()


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=float, parse_int=float, parse_constant=_refuse_constant
)
