import asyncio
import re

import pytest

from ostler.effects import seeded_random, system_effects
from ostler.testing.campaign import Finding, Plan, all_seeds, describe, main, replay_command, summarize
from ostler.testing.faults import RATES, Fault, Faults, planned
from ostler.testing.world import World

HERE = "tests.unit.testing.test_campaign"


async def scenario(world: World) -> None:
    """Fails under every seventh seed, or under all if it is told to."""
    await asyncio.sleep(world.random.uniform(1, 100))
    if world.faults.fires(Fault.DELAY):
        await asyncio.sleep(8)
    if world.seed % 7 == 3 or "always" in world.sabotage:
        raise ValueError("a planted failure")


def test_a_campaign_counts_what_it_ran_and_says_how_to_replay_what_failed() -> None:
    plan = Plan(f"{HERE}:scenario", frozenset())
    summary = summarize(all_seeds(plan, range(20), workers=1), system_effects().clock)
    assert (summary.seeds, [finding.seed for finding in summary.findings]) == (20, [3, 10, 17])
    assert summary.virtual_seconds > 100
    text = "\n".join(describe(summary, plan))
    assert "20 seeds, 3 failed" in text
    assert "seed 10: ValueError: a planted failure" in text
    assert f"python -m ostler.testing.campaign --scenario {HERE}:scenario --seed 10 --trace" in text
    assert all(str(fault) in text for fault in Fault)


def test_the_commands_exit_code_tells_whether_all_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    name = f"{HERE}:scenario"
    assert main(["--scenario", name, "--seeds", "2"]) == 0
    assert main(["--scenario", name, "--seeds", "2", "--sabotage", "always"]) == 1
    assert main(["--scenario", name, "--seed", "1"]) == 0
    assert main(["--scenario", name, "--seed", "3", "--trace"]) == 1
    assert "ValueError: a planted failure" in capsys.readouterr().out


def test_a_replay_repeats_the_run_to_the_letter(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        main(["--scenario", f"{HERE}:scenario", "--seed", "2"])
    first, second = re.findall(r"fingerprint (\w+)", capsys.readouterr().out)
    assert first == second


def test_the_replay_command_names_the_sabotage() -> None:
    assert replay_command(Plan("a:b", frozenset({"x"})), 3).endswith("--scenario a:b --seed 3 --trace --sabotage x")


def test_a_finding_survives_the_way_between_processes() -> None:
    results = list(all_seeds(Plan(f"{HERE}:scenario", frozenset()), range(12), workers=2))
    assert [result.seed for result in results] == list(range(12))
    assert [result.seed for result in results if isinstance(result, Finding)] == [3, 10]


def test_each_seed_has_its_own_faults_and_all_seeds_together_have_all() -> None:
    plans = [planned(seeded_random(seed)) for seed in range(50)]
    assert {fault for plan in plans for fault in plan} == set(RATES)
    assert all(0 < len(plan) < len(RATES) for plan in plans)


def test_a_fault_is_counted_when_it_fires_and_only_while_faults_are_on() -> None:
    faults = Faults(seeded_random(1), {Fault.KILL: 0.5})
    fired = sum(faults.fires(Fault.KILL) for _ in range(1000))
    assert 400 < fired < 600
    assert faults.counts == {Fault.KILL: fired}
    assert not any(faults.fires(Fault.PAUSE) for _ in range(100))
    faults.enabled = False
    assert not any(faults.fires(Fault.KILL) for _ in range(100))
