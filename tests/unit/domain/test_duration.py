import pytest
from hypothesis import given, strategies as st

from ostler.domain.duration import format_duration, parse_duration
from ostler.domain.machine import Refused


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1h30m", 5_400_000_000),
        ("300ms", 300_000),
        ("1m", 60_000_000),
        ("1.5h", 5_400_000_000),
        (".5s", 500_000),
        ("1h15m30.918273645s", 4_530_918_273),
        ("10us", 10),
        ("10µs", 10),
        ("10μs", 10),
        ("2500ns", 2),
        ("0", 0),
        ("+5s", 5_000_000),
        ("-2m", -120_000_000),
        (" 30s ", 30_000_000),
    ],
)
def test_go_durations_are_understood(text: str, micros: int) -> None:
    assert parse_duration(text) == micros


@pytest.mark.parametrize("text", ["", "5", "1d", "s", "1.2.3s", "1 h", "1h-5m", "٣s", "1e3s", ".s", "9999999h"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    refused = parse_duration(text)
    assert isinstance(refused, Refused)
    assert refused.code == "duration_malformed"
    assert "such as" in refused.reason


@given(st.integers(-(10**15), 10**15))
def test_what_is_written_is_read_back(micros: int) -> None:
    assert parse_duration(format_duration(micros)) == micros
