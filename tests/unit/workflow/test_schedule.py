"""When schedules are due: zones, clocks that are changed, missed times, and never twice."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from ostler.domain.machine import Refused
from ostler.workflow.schedule import MISSED_FOR, Due, due, next_fire

SECOND = 1_000_000
HOUR = 3600 * SECOND


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


def fires(cron: str, zone: str, after: str, count: int) -> list[str]:
    found: list[str] = []
    instant = at(after)
    for _ in range(count):
        following = next_fire(cron, zone, instant)
        assert isinstance(following, int)
        assert following > instant
        instant = following
        found.append(datetime.fromtimestamp(instant // SECOND, UTC).strftime("%m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        ("*/15 * * * *", "UTC", "2026-01-01T00:00:00", ["01-01 00:15", "01-01 00:30", "01-01 00:45"]),
        ("0 4 * * *", "UTC", "2026-01-01T04:00:00", ["01-02 04:00"]),
        ("0 4 * * *", "UTC", "2026-01-01T03:59:59", ["01-01 04:00"]),
        ("0 4 * * MON-FRI", "", "2026-01-02T05:00:00", ["01-05 04:00"]),
        ("0 0 13 * FRI", "UTC", "2026-02-01T00:00:00", ["02-06 00:00", "02-13 00:00", "02-20 00:00"]),
        ("0 0 */2 * FRI", "UTC", "2026-02-01T00:00:00", ["02-13 00:00", "02-27 00:00"]),
        ("0 0 29 2 *", "UTC", "2026-03-01T00:00:00", ["02-29 00:00"]),
        ("0 9 * * *", "Asia/Kolkata", "2026-01-01T00:00:00", ["01-01 03:30"]),
        ("0 9 * * *", "Europe/Rome", "2026-03-28T00:00:00", ["03-28 08:00", "03-29 07:00"]),
        # Clocks are put forward at 07:00 UTC: 02:30 is left out and comes at 03:00, as GitHub documents.
        ("30 2 * * *", "America/New_York", "2026-03-07T08:00:00", ["03-08 07:00", "03-09 06:30"]),
        ("*/20 2-3 * * *", "America/New_York", "2026-03-08T06:59:00", ["03-08 07:00", "03-08 07:20"]),
        # They are put back at 06:00 UTC: 01:30 comes twice.
        ("30 1 * * *", "America/New_York", "2026-11-01T00:00:00", ["11-01 05:30", "11-02 06:30"]),
        ("30 * * * *", "America/New_York", "2026-11-01T05:00:00", ["11-01 05:30", "11-01 06:30", "11-01 07:30"]),
        # A whole day was left out.
        ("0 12 * * *", "Pacific/Apia", "2011-12-30T00:00:00", ["12-30 10:00", "12-30 22:00"]),
    ],
)
def test_times(cron: str, zone: str, after: str, expected: list[str]) -> None:
    assert fires(cron, zone, after, len(expected)) == expected


def test_what_never_comes() -> None:
    assert next_fire("0 0 30 2 *", "UTC", 0) is None


@pytest.mark.parametrize(
    ("cron", "zone", "code"),
    [
        ("* * *", "UTC", "cron_malformed"),
        ("0 0 * * *", "Mars/Olympus", "timezone_unknown"),
        ("0 0 * * *", "../etc/passwd", "timezone_unknown"),
        ("0 0 * * *", "x\0y", "timezone_unknown"),
    ],
)
def test_what_is_no_schedule(cron: str, zone: str, code: str) -> None:
    for answer in (next_fire(cron, zone, 0), due(cron, zone, 0, 0)):
        assert isinstance(answer, Refused)
        assert answer.code == code


def test_only_the_last_of_missed_times_is_made_good() -> None:
    noon = at("2026-01-01T12:00:00")
    assert due("0 * * * *", "UTC", noon, noon - 1) == Due(None, 0, noon)
    assert due("0 * * * *", "UTC", noon, noon) == Due(noon, 0, noon + HOUR)
    assert due("0 * * * *", "UTC", noon, noon + 3 * HOUR + SECOND) == Due(noon + 3 * HOUR, 3, noon + 4 * HOUR)
    assert due("0 12 * * *", "UTC", noon, noon + MISSED_FOR) == Due(noon, 0, noon + 24 * HOUR)
    assert due("0 12 * * *", "UTC", noon, noon + MISSED_FOR + 1) == Due(None, 1, noon + 24 * HOUR)


def test_a_schedule_that_was_forgotten_for_years_is_found_at_once() -> None:
    noon, now = at("2020-01-01T12:00:00"), at("2026-01-01T12:00:30")
    assert due("* * * * *", "UTC", noon, now) == Due(now - 30 * SECOND, 1439, now + 30 * SECOND)


@given(
    zone=st.sampled_from(["UTC", "America/New_York", "Europe/Rome", "Australia/Lord_Howe", "Africa/Cairo"]),
    cron=st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 0,1,2,3 * * *", "15 */3 * * SUN", "59 23 31 * *"]),
    start=st.integers(at("2024-01-01T00:00:00") // SECOND, at("2027-01-01T00:00:00") // SECOND),
    pauses=st.lists(st.integers(1, 40 * 3600), min_size=1, max_size=15),
)
def test_no_time_starts_two_runs_and_times_only_go_on(zone: str, cron: str, start: int, pauses: list[int]) -> None:
    now = start * SECOND
    next_at = next_fire(cron, zone, now)
    assert isinstance(next_at, int)
    fired: list[int] = []
    for pause in pauses:
        now += pause * SECOND
        answer = due(cron, zone, next_at, now)
        assert isinstance(answer, Due)
        assert answer.next_at is not None
        assert answer.next_at > now
        if answer.fires_for is not None:
            assert next_at <= answer.fires_for <= now
            fired.append(answer.fires_for)
        next_at = answer.next_at
    assert fired == sorted(set(fired))
