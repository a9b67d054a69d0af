import pytest

from ostler.effects import system_effects
from ostler.testing.campaign import Plan, all_seeds, summarize
from ostler.testing.faults import Fault
from ostler.testing.world import World, simulate
from tests.simulation.miniature import scenario

NAME = "tests.simulation.miniature:scenario"
SEEDS = range(60)
OF_THE_REAL_PROGRAMS = {
    *(Fault.KILL_AT_LAUNCH, Fault.LAUNCH_FAILED),
    *(Fault.DATABASE_SLOW, Fault.DATABASE_REFUSED, Fault.DATABASE_UNCERTAIN, Fault.KILL_AT_COMMIT),
}
"""The miniature has neither supervisors nor a database."""


def test_a_right_program_survives_every_fault() -> None:
    summary = summarize(all_seeds(Plan(NAME, frozenset()), SEEDS, workers=1), system_effects().clock)
    assert summary.findings == []
    untried = {fault for fault in Fault if not summary.faults[fault]}
    assert untried == OF_THE_REAL_PROGRAMS


@pytest.mark.parametrize(
    ("sabotage", "rule"),
    [("requeue_started", "I1"), ("log_offset", "I3"), ("unsaved_result", "I5"), ("no_fence", "I6")],
)
def test_a_planted_bug_is_found(sabotage: str, rule: str) -> None:
    """One finding proves it, so the first one ends the search."""
    results = all_seeds(Plan(NAME, frozenset({sabotage})), SEEDS, workers=1)
    assert any(f" {rule} " in getattr(result, "summary", "") for result in results)


def test_a_seed_repeats_itself() -> None:
    assert simulate(World(11), scenario) == simulate(World(11), scenario)
