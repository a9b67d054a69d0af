"""Durations, labels and names: what people write, checked and explained."""

import pytest
from hypothesis import given, strategies as some

from ostler.domain.duration import format_duration, parse_duration
from ostler.domain.labels import checked_labels
from ostler.domain.machine import Refused
from ostler.domain.pool import PoolStatus, checked_name, status
from ostler.domain.runner import RunnerStatus
from ostler.domain.size import parse_size

LONGEST = (2**63 - 1) // 1000


@given(some.integers(-LONGEST, LONGEST))
def test_a_duration_survives_being_written_and_read(micros: int) -> None:
    assert parse_duration(format_duration(micros)) == micros


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("0", 0),
        ("300ms", 300_000),
        ("1m", 60_000_000),
        ("1h30m", 5_400_000_000),
        ("1.5s", 1_500_000),
        (".5s", 500_000),
        ("-2us", -2),
        ("2µs", 2),
        (" +1h ", 3_600_000_000),
        ("1500ns", 1),
    ],
)
def test_durations_are_read_in_gos_form(text: str, micros: int) -> None:
    assert parse_duration(text) == micros


@pytest.mark.parametrize("text", ["", "5", "1d", "m", "1..5s", "s1", ".s", "1h-5m", "9999999h", "٣s", "1 m"])
def test_what_is_no_duration_is_explained(text: str) -> None:
    outcome = parse_duration(text)
    assert isinstance(outcome, Refused)
    assert outcome.code == "duration_malformed"
    assert repr(text) in outcome.reason


@given(some.text(max_size=20))
def test_any_text_is_a_duration_or_is_refused(text: str) -> None:
    assert isinstance(parse_duration(text), int | Refused)


@given(some.lists(some.text(max_size=70), max_size=60))
def test_labels_are_clean_or_refused(labels: list[str]) -> None:
    outcome = checked_labels(labels)
    if isinstance(outcome, Refused):
        assert outcome.code in {"labels_too_many", "label_length", "label_characters"}
    else:
        assert checked_labels(outcome) == outcome
        assert list(outcome) == sorted(set(outcome))


def test_labels_are_compared_in_lower_case() -> None:
    assert checked_labels(["X64", " linux ", "x64", ""]) == ("linux", "x64")


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        ([str(number) for number in range(51)], "labels_too_many"),
        (["a" * 65], "label_length"),
        (["a b"], "label_characters"),
        (["a,b"], "label_characters"),
        (["a\x07"], "label_characters"),
    ],
)
def test_labels_that_cannot_be_are_explained(labels: list[str], code: str) -> None:
    outcome = checked_labels(labels)
    assert isinstance(outcome, Refused)
    assert outcome.code == code


@given(some.text(max_size=70))
def test_names_are_kept_as_given_or_refused(name: str) -> None:
    outcome = checked_name(name)
    assert outcome == name or isinstance(outcome, Refused)


@pytest.mark.parametrize(
    ("name", "code"), [("ab", "name_length"), ("a" * 65, "name_length"), ("a b c", "name_characters")]
)
def test_names_that_cannot_be_are_explained(name: str, code: str) -> None:
    outcome = checked_name(name)
    assert isinstance(outcome, Refused)
    assert outcome.code == code


def test_the_status_of_a_pool_follows_from_its_runners() -> None:
    idle, offline = RunnerStatus.IDLE, RunnerStatus.OFFLINE
    assert status([], ever_live=False, disabled=False) is PoolStatus.INACTIVE
    assert status([offline], ever_live=True, disabled=False) is PoolStatus.OFFLINE
    assert status([offline, idle], ever_live=True, disabled=False) is PoolStatus.HEALTHY
    assert status([idle], ever_live=True, disabled=True) is PoolStatus.DISABLED


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("512", 512),
        ("512MiB", 512 << 20),
        ("1GiB", 1 << 30),
        ("1.5 GiB", 3 << 29),
        ("2kb", 2000),
        ("3mb", 3_000_000),
        ("7 B", 7),
    ],
)
def test_sizes_have_a_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "MiB", "-1", "1 TiB", "1.MiB.", ".5GiB", "1.x GiB", "1e3", "٣MiB", "1 2", "1MiBMiB"]
)
def test_what_is_no_size_is_refused(text: str) -> None:
    refused = parse_size(text)
    assert isinstance(refused, Refused)
    assert refused.code == "size_malformed"
