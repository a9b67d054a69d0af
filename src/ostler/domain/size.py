"""Sizes as people write them: a number and a unit, ``512MiB`` or ``1.5 GB``; their value is bytes."""

from ostler.domain.machine import Refused

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}


def parse_size(text: str) -> int | Refused:
    """Return the bytes of a size, or what is wrong with it."""
    number = text.rstrip("bBkKmMgGiI ")
    unit = _UNITS.get(text[len(number) :].strip().lower())
    whole, _, fraction = number.partition(".")
    if unit is None or not (whole.isascii() and whole.isdigit() and (not fraction or fraction.isdigit())):
        return Refused("size_malformed", f"{text!r} is not a size; write a number and a unit, such as 256MiB")
    return int(whole) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
