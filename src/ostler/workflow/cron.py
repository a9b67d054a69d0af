"""Times written as five fields of cron: what each field lets in, or what is wrong with it.

Fields hold ``*``, numbers, names of months and days, ranges, steps and lists of these. ``@daily`` and its kind,
seconds, and ``?``, ``L`` or ``W`` are not part of the language.
"""

from itertools import pairwise
from typing import Final, NamedTuple

from ostler.domain.machine import Refused

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LONGEST_MONTH: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Field(NamedTuple):
    """One of the five fields."""

    noun: str
    least: int
    most: int
    names: dict[str, int]


FIELDS: Final = (
    Field("minute", 0, 59, {}),
    Field("hour", 0, 23, {}),
    Field("day of the month", 1, 31, {}),
    Field("month", 1, 12, {name: at for at, name in enumerate(_MONTHS, 1)}),
    Field("day of the week", 0, 6, {name: at for at, name in enumerate(_DAYS)}),
)


class Times(NamedTuple):
    """What the fields let in. A day must fit both of its fields, or one of them if neither is ``*``."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    @property
    def shortest_gap(self) -> int:
        """Return the least number of minutes between two times."""
        minutes = sorted(self.minutes)
        gaps = [later - earlier for earlier, later in pairwise(minutes)]
        hours = sorted(self.hours)
        if any((hour + 1) % 24 in self.hours for hour in hours):
            gaps.append(minutes[0] + 60 - minutes[-1])
        return min(gaps, default=60)

    @property
    def never(self) -> bool:
        """Whether no month has such a day."""
        if not self.any_weekday:
            return False
        return not any(day <= _LONGEST_MONTH[month - 1] for month in self.months for day in self.days)


def parse_cron(text: str) -> Times | Refused:
    """Return the times that five fields stand for."""
    parts = text.split()
    if text.strip().startswith("@"):
        return _refusal(f"{text.strip()[:20]!r} is not one of its forms; write the five fields out")
    if len(parts) != len(FIELDS):
        return _refusal(f"it has {len(parts)} fields, and five are needed: {', '.join(each.noun for each in FIELDS)}")
    values: list[frozenset[int]] = []
    for part, field in zip(parts, FIELDS, strict=True):
        taken = _field(part, field)
        if isinstance(taken, Refused):
            return taken
        values.append(taken)
    return Times(*values, any_day=parts[2].startswith("*"), any_weekday=parts[4].startswith("*"))


def _field(text: str, field: Field) -> frozenset[int] | Refused:
    values: set[int] = set()
    for item in text.split(","):
        span, slash, step = item.partition("/")
        if slash and (not step.isascii() or not step.isdigit() or not 0 < int(step[:6]) <= field.most):
            return _refusal(f"{step[:20]!r} is no step of the {field.noun}: a number from 1 to {field.most} is needed")
        taken = _span(span, field, open_ended=bool(slash))
        if isinstance(taken, Refused):
            return taken
        values.update(range(taken[0], taken[1] + 1, int(step[:6]) if slash else 1))
    return frozenset(values)


def _span(text: str, field: Field, *, open_ended: bool) -> tuple[int, int] | Refused:
    if text == "*":
        return field.least, field.most
    first, dash, last = text.partition("-")
    begins = _number(first, field)
    if isinstance(begins, Refused):
        return begins
    if not dash:
        return begins, field.most if open_ended else begins
    ends = _number(last, field)
    if isinstance(ends, Refused):
        return ends
    if ends < begins:
        return _refusal(f"the range {text[:20]!r} of the {field.noun} goes backwards")
    return begins, ends


def _number(text: str, field: Field) -> int | Refused:
    named = field.names.get(text.lower())
    if named is not None:
        return named
    if not text.isascii() or not text.isdigit() or not field.least <= int(text[:6]) <= field.most:
        return _refusal(f"{text[:20]!r} is no {field.noun}: it goes from {field.least} to {field.most}")
    return int(text)


def _refusal(why: str) -> Refused:
    return Refused("cron_malformed", f"not a time of cron: {why}")
