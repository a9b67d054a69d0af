"""The real server and real agents under every fault, and without each of their safeguards."""

import pytest

from ostler.effects import system_effects
from ostler.testing.campaign import DEFAULT, Finding, Plan, all_seeds, summarize
from ostler.testing.faults import Fault
from ostler.testing.platform import scenario
from ostler.testing.world import World, simulate
from tests.simulation.sabotages import SABOTAGES, SOUGHT

pytestmark = pytest.mark.timeout(900)
"""Seeds take as long as the machine is busy; what would never end is ended by the loop's own limits."""

SEEDS = range(160)
LONG_SEEDS = range(40)
LONG_TROUBLES = "ostler.testing.platform:long_troubles"
BREACHES = ("InvariantViolated", "PromiseBroken")
SABOTAGED = "tests.simulation.sabotages:scenario"
UNHARMED = "tests.simulation.sabotages:unharmed"
FOUND_AT = {
    "cancel_directive": 0,
    "hello_sequence": 0,
    "self_fencing": 6,
    "forgiveness": 11,
    "fence_check": 14,
    "guarded_state": 0,
    "start_grant": 0,
    "lease_renewal": 0,
    "reconciliation": 0,
    "log_offset": 3,
    "result_outbox": 2,
    "submit_key": 4,
    "start_key": 11,
    "rule_of_the_kind": 25,
    "journal_fsync": 2,
}
"""Where each was found when this was written."""

COVERED = {"finish_key", "claim_again"}
"""Another safeguard stands behind these, so nothing that is promised breaks without them (see the documentation)."""

RARE = {Fault.UNNAMED, Fault.UNDELETED}


def test_the_platform_keeps_its_promises() -> None:
    summary = summarize(all_seeds(Plan(DEFAULT, frozenset()), SEEDS, workers=2), system_effects().clock)
    assert summary.findings == []
    assert {fault for fault in Fault if not summary.faults[fault]} <= RARE


def test_the_platform_keeps_its_promises_through_long_troubles() -> None:
    summary = summarize(all_seeds(Plan(LONG_TROUBLES, frozenset()), LONG_SEEDS, workers=2), system_effects().clock)
    assert summary.findings == []


def test_a_seed_of_the_platform_repeats_itself() -> None:
    assert simulate(World(5), scenario) == simulate(World(5), scenario)


@pytest.mark.parametrize(("sabotage", "seed"), FOUND_AT.items())
def test_a_safeguard_that_is_missing_is_missed(sabotage: str, seed: int) -> None:
    """The first seed is the one that is known to find it; the rest are for when the code has changed its story."""
    seeds = range(seed, seed + 40)
    results = all_seeds(Plan(SABOTAGED, frozenset({sabotage})), seeds, workers=1)
    assert any(isinstance(result, Finding) and result.summary.startswith(BREACHES) for result in results)


@pytest.mark.parametrize("sabotage", SOUGHT)
def test_what_finds_a_missing_safeguard_finds_nothing_where_none_is_missing(sabotage: str) -> None:
    seed = FOUND_AT[sabotage]
    (result,) = all_seeds(Plan(UNHARMED, frozenset({sabotage})), range(seed, seed + 1), workers=1)
    assert not isinstance(result, Finding), result.summary


def test_every_sabotage_is_found_or_covered() -> None:
    assert FOUND_AT.keys() | COVERED == SABOTAGES.keys()
