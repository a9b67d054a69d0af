"""From text to tokens: words, numbers, strings in single quotes, and signs.

A token runs to the next sign or blank, so that ``1_000`` is one wrong number and not two right tokens.
"""

import re
from typing import NamedTuple

from ostler.expr.errors import ExpressionTooLong, UnexpectedSymbol
from ostler.expr.numbers import parse_number

MAX_LENGTH = 21_000

_SIGN, _STRING, _NUMBER, _WORD, _BROKEN = 1, 2, 3, 4, 5
_TOKEN = re.compile(
    r"\s*+(?:(&&|\|\||[!=<>]=|[()\[\],.*!<>])"
    r"|('(?:[^']|'')*+')"
    r"|([-+0-9][^()\[\],!<>=&|\s]*)"
    r"|([A-Za-z_][^()\[\],.!<>=&|\s]*)"
    r"|(.[^()\[\],.!<>=&|\s]*))",
    re.DOTALL,
)
_FRACTION = re.compile(r"\.[^()\[\],!<>=&|\s]*")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_AFTER_VALUE = frozenset(("name", ")", "]", "*"))
_KEYWORDS: dict[str, bool | float | None] = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
}
_WORDS_OF_OTHERS = {"and": "&&", "or": "||", "not": "!", "eq": "==", "ne": "!="}


class Token(NamedTuple):
    """`kind` is ``name``, ``literal``, ``end`` or the sign itself; `value` is that of the literal."""

    kind: str
    value: bool | float | str | None
    start: int
    end: int


def tokens(text: str, start: int, end: int) -> list[Token]:
    """Cut a stretch of text into tokens; the last one is the end."""
    if end - start > MAX_LENGTH:
        message = f"the expression has {end - start:,} characters, of which {MAX_LENGTH:,} are allowed"
        raise ExpressionTooLong(message, start, end, expected=f"at most {MAX_LENGTH:,} characters")
    found: list[Token] = []
    kind = ""
    here = start
    while True:
        match = _TOKEN.match(text, here, end)
        if match is None:
            found.append(Token("end", None, end, end))
            return found
        group = match.lastindex or _BROKEN
        begin, here = match.span(group)
        lexeme = match[group]
        if group == _SIGN and (lexeme != "." or kind in _AFTER_VALUE):
            kind, value = lexeme, None
        elif group == _STRING:
            kind, value = "literal", lexeme[1:-1].replace("''", "'")
        elif group == _WORD:
            kind, value = _word(lexeme, kind, begin)
        elif group == _BROKEN:
            raise _broken(text, lexeme, begin, here, end)
        else:
            if group == _SIGN:
                lexeme = text[begin : (here := _end_of_fraction(text, begin, end))]
            kind, value = "literal", _number(lexeme, begin)
        found.append(Token(kind, value, begin, here))


def _end_of_fraction(text: str, start: int, end: int) -> int:
    match = _FRACTION.match(text, start, end)
    return match.end() if match is not None else start + 1


def _word(lexeme: str, before: str, start: int) -> tuple[str, bool | float | str | None]:
    if _IDENTIFIER.fullmatch(lexeme) is None:
        raise UnexpectedSymbol(
            f"{lexeme!r} is no name",
            start,
            start + len(lexeme),
            expected="a name of letters, digits, '_' and '-'",
            fix="Write text in single quotes, and a key with other characters as ['key'].",
        )
    if before != "." and lexeme in _KEYWORDS:
        return "literal", _KEYWORDS[lexeme]
    return "name", lexeme


def _number(lexeme: str, start: int) -> float:
    number = parse_number(lexeme)
    if number != number:  # noqa: PLR0124 - only NaN differs from itself
        fix = "There is no arithmetic in expressions." if lexeme[0] in "+-" else ""
        end = start + len(lexeme)
        raise UnexpectedSymbol(
            f"{lexeme!r} is no number", start, end, expected="a number such as 12, -1.5 or 0xff", fix=fix
        )
    return number


def _broken(text: str, lexeme: str, start: int, end: int, limit: int) -> UnexpectedSymbol:
    """What begins with a character that begins nothing."""
    fix = ""
    if lexeme[0] == "'":
        message, end, expected = "the string is not closed", limit, "a closing '"
        fix = "Write a single quote within a string as ''."
    elif lexeme[0] == '"':
        message, expected = "a double quote begins no string", "a string in single quotes"
        fix = "Write strings in single quotes: 'text'."
    else:
        message, expected = f"unexpected {lexeme!r}", "a value or an operator"
        signs = {"=": "==", "&": "&&", "|": "||"}
        if lexeme[0] in signs:
            fix = f"Write {signs[lexeme[0]]}."
        elif lexeme[0] == "?":
            fix = "Choose with case(condition, value, otherwise), or condition && value || otherwise."
        elif lexeme[0] == "$" or text.startswith("{{", start):
            fix = "An expression holds no ${{ }} within."
        elif lexeme[0] in "/%^~+-":
            fix = "There is no arithmetic in expressions."
    return UnexpectedSymbol(message, start, end, expected=expected, fix=fix)


def operator_meant(word: str) -> str:
    """Return the operator that other languages write as this word; nothing if it is none."""
    return _WORDS_OF_OTHERS.get(word.lower(), "")
