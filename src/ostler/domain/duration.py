"""Durations as people write them in configuration: Go's form, ``300ms``, ``1m``, ``1h30m`` (rule 22)."""

from fractions import Fraction

from ostler.domain.machine import Refused

_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_LARGEST = 2**63 - 1


def parse_duration(text: str) -> int | Refused:
    """Return the duration in microseconds, or what is wrong with the text."""
    rest = text.strip()
    negative = rest.startswith("-")
    rest = rest.removeprefix("-") if negative else rest.removeprefix("+")
    if rest == "0":
        return 0
    if not rest:
        return _refusal(text, "it is empty")
    total = Fraction(0)
    while rest:
        number, rest = _take(rest, "0123456789.")
        unit, rest = _take(rest, "nuµμsmh")
        if not number.strip(".") or number.count(".") > 1 or not number.isascii():
            return _refusal(text, "a number is missing or malformed")
        if unit not in _NANOSECONDS:
            return _refusal(text, f"the unit {unit!r} is unknown" if unit else "a unit is missing")
        total += Fraction(number if not number.startswith(".") else f"0{number}") * _NANOSECONDS[unit]
    if total > _LARGEST:
        return _refusal(text, "it is longer than 292 years")
    micros = int(total / 1000)
    return -micros if negative else micros


def format_duration(micros: int) -> str:
    """Return the shortest Go form of a duration in microseconds."""
    if micros == 0:
        return "0s"
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    if micros < 1_000:
        return f"{sign}{micros}µs"
    if micros < 1_000_000:
        return f"{sign}{_decimal(micros, 1_000)}ms"
    hours, micros = divmod(micros, 3_600_000_000)
    minutes, micros = divmod(micros, 60_000_000)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else ""]
    if micros:
        parts.append(f"{_decimal(micros, 1_000_000)}s")
    return sign + "".join(parts)


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    return f"{whole}.{str(rest).zfill(len(str(unit)) - 1).rstrip('0')}" if rest else str(whole)


def _take(text: str, allowed: str) -> tuple[str, str]:
    end = 0
    while end < len(text) and text[end] in allowed:
        end += 1
    return text[:end], text[end:]


def _refusal(text: str, why: str) -> Refused:
    return Refused(
        "duration_malformed",
        f"{text!r} is not a duration: {why}; write a number and a unit (ns, us, ms, s, m, h), such as 300ms or 1h30m",
    )
