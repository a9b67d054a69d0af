"""Values, and what GitHub makes of them: truth, text, numbers, equality and order.

Numbers are floats; whole ones that callers hand in are taken for floats. Objects are mappings whose keys ignore case.
"""

from collections.abc import Mapping, Sequence
from math import floor, isinf
from typing import Final, TypeAlias, Union, cast

from ostler.expr.numbers import number_text, parse_number

Value: TypeAlias = Union[bool, int, float, str, "Sequence[Value]", Mapping[str, "Value"], None]
"""What expressions are about: null, booleans, numbers, strings, arrays and objects, as JSON has them."""


class CaseSensitive(dict[str, Value]):
    """An object whose keys are told apart by case: ``env`` on Linux."""

    __slots__ = ()


class Filtered(list[Value]):
    """What ``.*`` made: whatever follows is asked of each element."""

    __slots__ = ()


NULL: Final = 0
BOOLEAN: Final = 1
NUMBER: Final = 2
STRING: Final = 3
ARRAY: Final = 4
OBJECT: Final = 5

MISSING: Final = object()
"""What ``member`` returns for a key that an object does not have, since null is a value."""

_KINDS: dict[type, int] = {
    type(None): NULL,
    bool: BOOLEAN,
    float: NUMBER,
    int: NUMBER,
    str: STRING,
    list: ARRAY,
    tuple: ARRAY,
    Filtered: ARRAY,
    dict: OBJECT,
    CaseSensitive: OBJECT,
}
_BIGGEST_INDEX = 2**31 - 1
_DOTLESS_I = "\u0131"


def kind(value: Value) -> int:
    """Return which of the six kinds a value is of."""
    found = _KINDS.get(type(value))
    if found is not None:
        return found
    for known, number in _KINDS.items():
        if isinstance(value, known):
            return number
    return OBJECT if isinstance(value, Mapping) else ARRAY


def truthy(value: Value) -> bool:
    """Whether a value counts as true: all but null, false, 0, NaN and the empty string."""
    if value is True or value is False or value is None:
        return value is True
    if isinstance(value, str):
        return value != ""
    if isinstance(value, int | float):
        return value != 0 and value == value  # noqa: PLR0124 - only NaN differs from itself
    return True


def as_text(value: Value) -> str:
    """Return what a value is as text; arrays and objects only say that they are such."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int | float):
        return number_text(as_number(value))
    return "Array" if kind(value) == ARRAY else "Object"


def as_number(value: Value) -> float:
    """Return what a value is as a number; NaN for arrays and objects."""
    if isinstance(value, float):
        return value
    if isinstance(value, str):
        return parse_number(value)
    if value is None:
        return 0.0
    if isinstance(value, int):
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return float("nan")


def folded(text: str) -> str:
    """Return a text as it is compared: in capitals, letter by letter: 'ß' and the dotless i stay what they are."""
    capitals = text.upper()
    if len(capitals) == len(text) and _DOTLESS_I not in text:
        return capitals
    return "".join([_capital(letter) for letter in text])


def _capital(letter: str) -> str:
    capital = letter.upper()
    return letter if len(capital) > 1 or letter == _DOTLESS_I else capital


def equal(left: Value, right: Value) -> bool:
    """``left == right``: different kinds as numbers, strings without case; a collection is equal only to itself."""
    if isinstance(left, str) and isinstance(right, str):
        return left == right or (len(left) == len(right) and folded(left) == folded(right))
    left_kind, right_kind = kind(left), kind(right)
    if left_kind != right_kind or left_kind == NUMBER:
        # A collection becomes NaN here, which equals nothing.
        return as_number(left) == as_number(right)
    return left is right if left_kind >= ARRAY else left == right


def less(left: Value, right: Value) -> bool:
    """``left < right``; nothing is less than null or a collection, nor are these less than their kind."""
    left_kind, right_kind = kind(left), kind(right)
    if left_kind == right_kind == STRING:
        return _sorting(cast("str", left)) < _sorting(cast("str", right))
    if left_kind == right_kind and left_kind in (NULL, ARRAY, OBJECT):
        return False
    return as_number(left) < as_number(right)


def _sorting(text: str) -> bytes:
    """Strings are ordered by UTF-16 code units."""
    return folded(text).encode("utf-16-be", "surrogatepass")


def member(collection: Mapping[str, Value], key: str) -> object:
    """Return what an object has under a key, whose case does not matter, or ``MISSING``."""
    found = collection.get(key, MISSING)
    if found is not MISSING or type(collection) is CaseSensitive:
        return found
    wanted = folded(key)
    for known in collection:
        if folded(known) == wanted:
            return collection[known]
    return MISSING


def position(index: Value) -> int:
    """Return which element of an array an index means; -1 if it means none."""
    number = as_number(index)
    if not number >= 0 or isinf(number) or number > _BIGGEST_INDEX:
        return -1
    return floor(number)
