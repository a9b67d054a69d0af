"""The status of a pool follows from its runners (rule 14), and its name from rule 21."""

import pytest

from ostler.domain.machine import Refused
from ostler.domain.pool import PoolStatus, checked_name, status
from ostler.domain.runner import RunnerStatus as Runner


def test_a_new_pool_is_inactive() -> None:
    assert status([], ever_live=False, disabled=False) is PoolStatus.INACTIVE
    assert status([Runner.OFFLINE], ever_live=False, disabled=False) is PoolStatus.INACTIVE


@pytest.mark.parametrize("live", [Runner.IDLE, Runner.BUSY, Runner.ERROR])
def test_one_live_runner_makes_it_healthy(live: Runner) -> None:
    assert status([Runner.OFFLINE, live], ever_live=True, disabled=False) is PoolStatus.HEALTHY


def test_without_live_runners_it_is_offline_and_no_longer_inactive() -> None:
    assert status([Runner.OFFLINE, Runner.RETIRED], ever_live=True, disabled=False) is PoolStatus.OFFLINE
    assert status([], ever_live=True, disabled=False) is PoolStatus.OFFLINE


def test_disabled_beats_everything() -> None:
    assert status([Runner.IDLE], ever_live=True, disabled=True) is PoolStatus.DISABLED


@pytest.mark.parametrize("name", ["abc", "a" * 64, "production-runners", "us-east-1-pool", "Under_score"])
def test_names_that_are_allowed(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize(
    ("name", "code"),
    [("ab", "name_length"), ("a" * 65, "name_length"), ("a b c", "name_characters"), ("äbc", "name_characters")],
)
def test_names_that_are_not(name: str, code: str) -> None:
    refused = checked_name(name)
    assert isinstance(refused, Refused)
    assert refused.code == code
