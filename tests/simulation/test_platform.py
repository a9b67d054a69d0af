"""The real server and real agents under every fault, and without each of their safeguards."""

import pytest

from ostler.effects import system_effects
from ostler.testing.campaign import DEFAULT, Finding, Plan, all_seeds, summarize
from ostler.testing.faults import Fault
from ostler.testing.platform import scenario
from ostler.testing.world import World, simulate
from tests.simulation.sabotages import SABOTAGES

SEEDS = range(60)
BREACHES = ("InvariantViolated", "PromiseBroken")
SABOTAGED = "tests.simulation.sabotages:scenario"
FOUND_AT = {
    "cancel_directive": 0,
    "guarded_state": 0,
    "start_grant": 0,
    "lease_renewal": 0,
    "reconciliation": 0,
    "log_offset": 0,
    "result_outbox": 2,
    "submit_key": 3,
    "start_key": 6,
    "rule_of_the_kind": 19,
    "journal_fsync": 21,
}
"""Where each was found when this was written."""

RARE = {Fault.UNNAMED, Fault.UNDELETED}


def test_the_platform_keeps_its_promises() -> None:
    summary = summarize(all_seeds(Plan(DEFAULT, frozenset()), SEEDS, workers=2), system_effects().clock)
    assert summary.findings == []
    assert {fault for fault in Fault if not summary.faults[fault]} <= RARE


def test_a_seed_of_the_platform_repeats_itself() -> None:
    assert simulate(World(5), scenario) == simulate(World(5), scenario)


@pytest.mark.parametrize(("sabotage", "seed"), FOUND_AT.items())
def test_a_safeguard_that_is_missing_is_missed(sabotage: str, seed: int) -> None:
    """The first seed is the one that is known to find it; the rest are for when the code has changed its story."""
    seeds = range(seed, seed + 40)
    results = all_seeds(Plan(SABOTAGED, frozenset({sabotage})), seeds, workers=1)
    assert any(isinstance(result, Finding) and result.summary.startswith(BREACHES) for result in results)


def test_every_sabotage_that_a_seed_is_known_for_exists() -> None:
    assert FOUND_AT.keys() <= SABOTAGES.keys()
