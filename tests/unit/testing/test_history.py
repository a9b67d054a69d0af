import re
from collections.abc import Callable

import pytest

from ostler.testing.errors import InvariantViolated
from ostler.testing.history import History
from ostler.testing.invariants import ALWAYS, FINALLY
from ostler.testing.loop import SimLoop
from ostler.testing.world import World, simulate

Story = Callable[[History], None]


def good(history: History) -> None:
    history.submitted("job1", "deployment")
    history.claimed("job1", 1, "ann")
    history.granted("job1", 1, "ann")
    history.granted("job1", 1, "ann")
    history.executing("job1", 1, "ann")
    history.printed("job1", 1, b"hello")
    history.finished("job1", 1, "success")
    history.wrote("job1", 1, "finish")
    history.ended("job1", 1, "success")
    history.acknowledged("job1", 1, "success")
    history.stored("job1", 1, b"hello")
    history.limited("deployments", 1, 1)


def granted_twice(history: History) -> None:
    good(history)
    history.granted("job1", 2, "bob")


def executed_twice(history: History) -> None:
    good(history)
    history.executing("job1", 1, "ann")


def executed_without_grant(history: History) -> None:
    good(history)
    history.submitted("job2", "lease")
    history.executing("job2", 1, "ann")
    history.ended("job2", 1, "success")


def wrote_stale(history: History) -> None:
    good(history)
    history.claimed("job1", 2, "bob")
    history.wrote("job1", 1, "log")


def ended_twice(history: History) -> None:
    good(history)
    history.ended("job1", 1, "lost")


def never_ended(history: History) -> None:
    good(history)
    history.submitted("job2", "lease")
    history.submitted("job3", "ci")


def lost_result(history: History) -> None:
    history.submitted("job1", "lease")
    history.claimed("job1", 1, "ann")
    history.finished("job1", 1, "success")
    history.acknowledged("job1", 1, "success")
    history.ended("job1", 1, "lost")


def cut_log(history: History) -> None:
    good(history)
    history.stored("job1", 1, b"hell")


def invented_log(history: History) -> None:
    good(history)
    history.submitted("job2", "lease")
    history.ended("job2", 1, "lost")
    history.stored("job2", 1, b"x")


def over_limit(history: History) -> None:
    good(history)
    history.limited("deployments", 3, 2)


@pytest.mark.parametrize(
    ("story", "rules"),
    [
        (good, set[str]()),
        (granted_twice, {"I1"}),
        (executed_twice, {"I1"}),
        (executed_without_grant, {"I1"}),
        (wrote_stale, {"I6"}),
        (ended_twice, {"I9"}),
        (never_ended, {"I2", "I9"}),
        (lost_result, {"I5"}),
        (cut_log, {"I3"}),
        (invented_log, {"I3"}),
        (over_limit, {"I7"}),
    ],
)
def test_each_rule_finds_its_breach(story: Story, rules: set[str]) -> None:
    loop = SimLoop(1)
    history = History(loop)
    try:
        story(history)
        if rules:
            with pytest.raises(InvariantViolated):
                history.close()
        else:
            history.close()
    finally:
        loop.close()
    assert {number for breach in history.violations for number in re.findall(r"\bI\d\b", breach)} == rules


def test_a_breach_ends_the_run_where_it_happens() -> None:
    async def scenario(world: World) -> None:
        granted_twice(world.history)
        raise AssertionError("this is too late")

    with pytest.raises(InvariantViolated, match="I1"):
        simulate(World(1, rates={}), scenario)


def test_every_rule_says_its_number() -> None:
    assert all((rule.__doc__ or "").startswith("I") for rule in ALWAYS + FINALLY)
