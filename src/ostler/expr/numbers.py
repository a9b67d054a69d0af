"""Numbers and their text: reading as JavaScript's ``Number()`` does, writing as .NET's ``G15`` does.

GitHub reads numbers by the former rule and writes them by the latter: fifteen digits, ``1E+15`` from there on.
"""

import re
from math import inf, nan

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BASED = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_BASES = {"x": 16, "o": 8, "b": 2}
_INFINITE = {"Infinity": inf, "+Infinity": inf, "-Infinity": -inf}
_PLAIN_BELOW = 1e15
_BLANKS = " \t\n\r\v\f\ufeff\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def parse_number(text: str) -> float:
    """Return the number that a text stands for: 0 for blank text, NaN for what is no number."""
    text = text.strip(_BLANKS)
    if not text:
        return 0.0
    if _DECIMAL.fullmatch(text) is not None:
        return float(text)
    if _BASED.fullmatch(text) is not None:
        try:
            return float(int(text[2:], _BASES[text[1].lower()]))
        except OverflowError:
            return inf
    return _INFINITE.get(text, nan)


def number_text(number: float) -> str:
    """Return a number as text of at most fifteen digits."""
    if -_PLAIN_BELOW < number < _PLAIN_BELOW and number == (whole := int(number)):
        return str(whole)
    if number != number:  # noqa: PLR0124 - only NaN differs from itself
        return "NaN"
    if number in (inf, -inf):
        return "Infinity" if number > 0 else "-Infinity"
    return format(number, ".15g").replace("e", "E")
