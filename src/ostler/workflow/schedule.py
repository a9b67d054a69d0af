"""When a schedule is due next, and what becomes of the times that were missed.

A time of day is one of the clocks of its zone. When these are put forward, times that they leave out are due when they
go on; when they are put back, times that come twice are due once, the first time; but what is due every hour is due in
both hours. Instants are microseconds since 1970; whoever keeps schedules reads the clock.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ostler.domain.machine import Refused
from ostler.workflow.cron import Times, parse_cron

_SECOND: Final = 1_000_000
MISSED_FOR: Final = 3600 * _SECOND
"""A time that was missed is made good for an hour, once: after a long pause nobody wants last week's nightly build."""
_COUNTED_FOR: Final = 24 * 3600 * _SECOND
_FARTHEST: Final = timedelta(days=366 * 8 + 2)
"""The 29th of February comes again within eight years."""
_LONGEST_GAP: Final = timedelta(hours=26)
_EVERY_HOUR: Final = frozenset(range(24))


class Due(NamedTuple):
    """What is to be done with a schedule now."""

    fires_for: int | None
    """The time that a run is to be started for, if any."""
    missed: int
    """How many times of the last day were due that no run is started for."""
    next_at: int | None
    """When it is due next; never, if nothing."""


def next_fire(cron: str, timezone: str, after: int) -> int | Refused | None:
    """Return the first instant later than another one at which a schedule is due; None if there is none."""
    times, zone = parse_cron(cron), _zone(timezone)
    if isinstance(times, Refused):
        return times
    if isinstance(zone, Refused):
        return zone
    return next(_fires(times, zone, after), None)


def due(cron: str, timezone: str, next_at: int, now: int) -> Due | Refused:
    """Return what follows at a time at which a schedule stood to be due at ``next_at``.

    Of all times that have passed, only the last can start a run, and only if it is not long ago. Whoever stores
    ``next_at`` anew in the transaction that starts the run, if it was still the old one, starts none twice.
    """
    times, zone = parse_cron(cron), _zone(timezone)
    if isinstance(times, Refused):
        return times
    if isinstance(zone, Refused):
        return zone
    if now < next_at:
        return Due(None, 0, next_at)
    passed: list[int] = []
    following = None
    for fire in _fires(times, zone, max(next_at - 1, now - _COUNTED_FOR)):
        if fire > now:
            following = fire
            break
        passed.append(fire)
    fires_for = passed[-1] if passed and now - passed[-1] <= MISSED_FOR else None
    return Due(fires_for, len(passed) - (fires_for is not None), following)


def _zone(name: str) -> ZoneInfo | Refused:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return Refused("timezone_unknown", f"there is no time zone {name[:60]!r}")


def _fires(times: Times, zone: ZoneInfo, after: int) -> Iterator[int]:
    """Yield all instants later than one, in order and none twice."""
    start = datetime.fromtimestamp(after // _SECOND, zone)
    day, last = start.date() - timedelta(days=1), start.date() + _FARTHEST
    latest = after
    while day <= last:
        if _fits(times, day):
            for fire in sorted({instant * _SECOND for instant in _of_day(times, zone, day)}):
                if fire > latest:
                    latest = fire
                    last = day + _FARTHEST
                    yield fire
        day += timedelta(days=1)


def _fits(times: Times, day: date) -> bool:
    if day.month not in times.months:
        return False
    by_date, by_weekday = day.day in times.days, day.isoweekday() % 7 in times.weekdays
    return by_date and by_weekday if times.any_day or times.any_weekday else by_date or by_weekday


def _of_day(times: Times, zone: ZoneInfo, day: date) -> Iterator[int]:
    for hour in times.hours:
        for minute in times.minutes:
            local = datetime.combine(day, time(hour, minute), zone)
            instant = local.astimezone(UTC)
            if instant.astimezone(zone).replace(tzinfo=None) != local.replace(tzinfo=None):
                yield _end_of_gap(instant, zone)
                continue
            yield int(instant.timestamp())
            if times.hours == _EVERY_HOUR:
                yield int(local.replace(fold=1).timestamp())


def _end_of_gap(instant: datetime, zone: ZoneInfo) -> int:
    """Return when the clocks go on, near an instant whose local time they leave out."""
    early, late = int((instant - _LONGEST_GAP).timestamp()), int(instant.timestamp())
    before = datetime.fromtimestamp(early, zone).utcoffset()
    while late - early > 1:
        middle = (early + late) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == before:
            early = middle
        else:
            late = middle
    return late
