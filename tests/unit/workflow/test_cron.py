"""Fields of cron: what they let in, and what is wrong with those that are none."""

import pytest

from ostler.domain.machine import Refused
from ostler.workflow.cron import Times, parse_cron


def _times(text: str) -> Times:
    times = parse_cron(text)
    assert isinstance(times, Times)
    return times


def test_each_form_of_a_field() -> None:
    """Stars, numbers, names, ranges, steps, lists, and all of them together."""
    times = _times("*/20,5 8-10 1,15 jan-MAR/2 MON,fri")
    assert times.minutes == {0, 20, 40, 5}
    assert times.hours == {8, 9, 10}
    assert times.days == {1, 15}
    assert times.months == {1, 3}
    assert times.weekdays == {1, 5}
    assert not times.any_day
    assert _times("5/15 * * * *").minutes == {5, 20, 35, 50}


@pytest.mark.parametrize(
    ("text", "gap"),
    [("* * * * *", 1), ("*/5 * * * *", 5), ("0,59 * * * *", 1), ("0,59 4 * * *", 59), ("0 4 * * *", 60)],
)
def test_the_shortest_gap(text: str, gap: int) -> None:
    """Also over the end of an hour, if the next one is let in."""
    assert _times(text).shortest_gap == gap


@pytest.mark.parametrize(
    ("text", "never"), [("0 0 31 2 *", True), ("0 0 31 4,6 *", True), ("0 0 29 2 *", False), ("0 0 31 2 MON", False)]
)
def test_days_that_never_come(text: str, never: bool) -> None:
    """A day of the week saves them, because one of the two is enough."""
    assert _times(text).never is never


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0 4 * *", "4 fields"),
        ("0 0 4 * * *", "6 fields"),
        ("@daily", "'@daily'"),
        ("60 * * * *", "'60' is no minute"),
        ("0 24 * * *", "'24' is no hour"),
        ("0 0 0 * *", "'0' is no day of the month"),
        ("0 0 * 13 *", "'13' is no month"),
        ("0 0 * * 7", "'7' is no day of the week"),
        ("0 0 * * MONDAY", "'MONDAY'"),
        ("0 9-5 * * *", "goes backwards"),
        ("*/0 * * * *", "no step"),
        ("*/x * * * *", "no step"),
        ("1, * * * *", "'' is no minute"),
        ("-1 * * * *", "'' is no minute"),
        ("1-2-3 * * * *", "'2-3' is no minute"),
        ("٣ * * * *", "is no minute"),
        ("0 0 L * *", "'L'"),
    ],
)
def test_what_is_no_time(text: str, why: str) -> None:
    """The reason names the field and what is wrong in it."""
    refused = parse_cron(text)
    assert isinstance(refused, Refused)
    assert why in refused.reason
