"""The functions that every place knows, and how many arguments each documented function takes.

``success()``, ``hashFiles()`` and their kind depend on what has happened and on files; whoever evaluates hands them in.
``case`` is not here, since it looks at no more of its arguments than it must (``evaluation``).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

from ostler.expr.errors import WrongArgument
from ostler.expr.json_text import MAX_TEXT, from_json, to_json, too_large
from ostler.expr.values import ARRAY, STRING, Value, as_text, equal, folded, kind

Function: TypeAlias = Callable[[Sequence[Value]], Value]

_MOST = 255
_FIELD = re.compile(r"[^{}]+|\{\{|\}\}|\{([0-9]+):?\}|.", re.DOTALL)


class Signature(NamedTuple):
    """A function's name as it is documented, and how many arguments it takes."""

    name: str
    least: int
    most: int


SIGNATURES: Mapping[str, Signature] = {
    signature.name.lower(): signature
    for signature in (
        Signature("contains", 2, 2),
        Signature("startsWith", 2, 2),
        Signature("endsWith", 2, 2),
        Signature("format", 1, _MOST),
        Signature("join", 1, 2),
        Signature("toJSON", 1, 1),
        Signature("fromJSON", 1, 1),
        Signature("case", 3, _MOST),
        Signature("hashFiles", 1, _MOST),
        Signature("always", 0, 0),
        Signature("success", 0, 0),
        Signature("failure", 0, 0),
        Signature("cancelled", 0, 0),
    )
}
"""Every documented function, by its name in small letters."""

STATUS_FUNCTIONS = ("always", "cancelled", "failure", "success")


def _contains(arguments: Sequence[Value]) -> bool:
    search, item = arguments
    sort = kind(search)
    if sort == ARRAY:
        return any(equal(item, element) for element in cast("Sequence[Value]", search))
    return sort <= STRING and kind(item) <= STRING and folded(as_text(item)) in folded(as_text(search))


def _starts_with(arguments: Sequence[Value]) -> bool:
    text, prefix = arguments
    return kind(text) <= STRING and kind(prefix) <= STRING and folded(as_text(text)).startswith(folded(as_text(prefix)))


def _ends_with(arguments: Sequence[Value]) -> bool:
    text, suffix = arguments
    return kind(text) <= STRING and kind(suffix) <= STRING and folded(as_text(text)).endswith(folded(as_text(suffix)))


def _format(arguments: Sequence[Value]) -> str:
    pattern = as_text(arguments[0])
    given = [as_text(argument) for argument in arguments[1:]]
    parts: list[str] = []
    length = 0
    for match in _FIELD.finditer(pattern):
        part = match[0]
        if match[1] is not None:
            part = _argument(match[1], given)
        elif part in ("{{", "}}"):
            part = part[0]
        elif part in ("{", "}"):
            message = f"the format has a lone {part!r} at character {match.start() + 1}"
            raise WrongArgument(message, expected="{0}, {1} … or a doubled brace", fix=f"Write {part * 2} for {part}.")
        length += len(part)
        if length > MAX_TEXT:
            raise too_large("format")
        parts.append(part)
    return "".join(parts)


def _argument(digits: str, given: Sequence[str]) -> str:
    digits = digits.lstrip("0") or "0"
    if len(digits) > 3 or int(digits) >= len(given):
        most = f"at most {{{len(given) - 1}}}" if given else "values after the format"
        raise WrongArgument(f"the format asks for {{{digits[:20]}}}, which is not given", expected=most)
    return given[int(digits)]


def _join(arguments: Sequence[Value]) -> str:
    sort = kind(arguments[0])
    if sort != ARRAY:
        return as_text(arguments[0]) if sort <= STRING else ""
    separator = as_text(arguments[1]) if len(arguments) > 1 and kind(arguments[1]) <= STRING else ","
    parts = [as_text(element) for element in cast("Sequence[Value]", arguments[0])]
    if sum(map(len, parts)) + len(separator) * (len(parts) - 1) > MAX_TEXT:
        raise too_large("join")
    return separator.join(parts)


STANDARD: Mapping[str, Function] = {
    "contains": _contains,
    "startswith": _starts_with,
    "endswith": _ends_with,
    "format": _format,
    "join": _join,
    "tojson": lambda arguments: to_json(arguments[0]),
    "fromjson": lambda arguments: from_json(as_text(arguments[0])),
}
