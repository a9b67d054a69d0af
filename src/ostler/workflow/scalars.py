"""What a plain scalar means: the core schema of YAML 1.2.

``on``, ``yes`` and ``2026-11-19`` are strings here, which YAML 1.1 takes for a boolean and a date.
"""

import math
import re
from typing import Final, TypeAlias

Meaning: TypeAlias = bool | float | str | None
"""What a scalar can mean; every number is a double."""

_WORDS: Final[dict[str, bool | float | None]] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_BASED = re.compile(r"0x[0-9a-fA-F]+|0o[0-7]+")
CORE: Final = "tag:yaml.org,2002:"
"""What every tag of the core schema begins with."""
_TYPES: Final = {"null": type(None), "bool": bool, "int": float, "float": float}


def resolved(text: str) -> bool | float | str | None:
    """Return what a plain scalar without a tag means."""
    if text in _WORDS:
        return _WORDS[text]
    if _DECIMAL.fullmatch(text):
        return float(text)
    if _BASED.fullmatch(text):
        return _double(int(text[2:], 16 if text[1] == "x" else 8))
    return text


def tagged(text: str, tag: str) -> bool | float | str | None:
    """Return what a scalar with a tag of the core schema means; raise ``ValueError`` if it cannot mean that."""
    name = tag.removeprefix(CORE)
    if name == "str" and tag.startswith(CORE):
        return text
    if not tag.startswith(CORE) or name not in _TYPES:
        raise ValueError(f"the tag {tag} is not one of the core schema")
    value = resolved(text)
    if not isinstance(value, _TYPES[name]) or (name == "int" and not float(value or 0).is_integer()):
        raise ValueError(f"{text!r} is not of the type {name}")
    return value


def _double(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def as_text(value: Meaning) -> str:
    """Return a value as the language writes it where it asks for text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    mantissa, _, exponent = f"{value:.15g}".partition("e")
    return mantissa if not exponent else f"{mantissa}E{exponent}"
