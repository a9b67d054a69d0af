"""Lines of waiting runners: who is asked for a job, and how many."""

import asyncio
from collections.abc import Callable

import pytest

from ostler.domain.job import JobKind, Slot
from ostler.domain.runner import Admission
from ostler.scheduling.demand import DemandClass, RunnerFacts
from ostler.server.held_polls import FRONT, STRETCH, HeldPoll, HeldPolls, Told

_ANY = DemandClass(id="any", pool_id="pool", kind=JobKind.CI)
_GPU = DemandClass(id="gpu", pool_id="pool", kind=JobKind.CI, labels=("gpu",))


@pytest.fixture
def on_loop() -> Callable[[Callable[[], None]], None]:
    """Runs a test where futures can be made."""

    def run(test: Callable[[], None]) -> None:
        async def whole() -> None:
            test()

        asyncio.run(whole())

    return run


def _poll(name: str, *labels: str, brief: bool = False, admission: Admission = Admission.ACTIVE) -> HeldPoll:
    facts = RunnerFacts(id=name, name=name, pool_id="pool", labels=frozenset(labels), admission=admission)
    return HeldPoll(facts, (Slot.PRIMARY,), f"key-{name}", brief=brief)


def _asked(polls: HeldPolls) -> list[str]:
    return [each.want.runner_id for each in polls.ask({"pool"})]


def _learned(*classes: DemandClass) -> HeldPolls:
    polls = HeldPolls()
    polls.learn({"pool": list(classes)})
    return polls


def test_the_front_of_a_line_doubles_while_it_is_served(on_loop: Callable[[Callable[[], None]], None]) -> None:
    def test() -> None:
        polls = _learned(_ANY)
        for number in range(2 * STRETCH):
            polls.add(_poll(f"{number:04d}"))
        line = polls.ask({"pool"})[0].line
        sizes: list[int] = []
        for _ in range(8):
            asked = polls.ask({"pool"})
            sizes.append(len(asked))
            assert polls.served(line, len(asked), len(asked))
        assert sizes == [FRONT, 16, 32, 64, 128, STRETCH, STRETCH, STRETCH]
        assert not polls.served(line, STRETCH, STRETCH - 1)
        assert _asked(polls) == [f"{number:04d}" for number in range(FRONT)]

    on_loop(test)


def test_a_brief_poll_is_asked_however_far_back_it_stands(on_loop: Callable[[Callable[[], None]], None]) -> None:
    def test() -> None:
        polls = _learned(_ANY)
        for number in range(FRONT + 5):
            polls.add(_poll(f"{number:04d}"))
        brief = _poll("brief", brief=True)
        polls.add(brief)
        assert _asked(polls)[-1] == "brief"
        assert polls.brief() == [brief]
        polls.drop(brief)
        assert "brief" not in _asked(polls)

    on_loop(test)


def test_a_second_poll_ends_the_first_for_good(on_loop: Callable[[Callable[[], None]], None]) -> None:
    def test() -> None:
        polls = _learned(_ANY)
        first, second = _poll("one"), _poll("one")
        polls.add(first)
        polls.add(second)
        assert first.future.result() == Told(final=True)
        polls.drop(first)
        assert polls.of("one") is second
        assert _asked(polls) == ["one"]

    on_loop(test)


def test_new_classes_arrange_those_who_wait(on_loop: Callable[[Callable[[], None]], None]) -> None:
    def test() -> None:
        polls = _learned(_ANY)
        polls.add(_poll("plain"))
        polls.add(_poll("graphics", "gpu"))
        assert {each.want.demand_ids for each in polls.ask({"pool"})} == {("any",)}
        polls.learn({"pool": [_ANY, _GPU]})
        wants = {each.want.runner_id: each.want.demand_ids for each in polls.ask({"pool"})}
        assert wants == {"plain": ("any",), "graphics": ("any", "gpu")}

    on_loop(test)


def test_new_facts_arrange_the_one_they_are_about(on_loop: Callable[[Callable[[], None]], None]) -> None:
    def test() -> None:
        polls = _learned(_ANY)
        paused = _poll("one", admission=Admission.PAUSED)
        polls.add(paused)
        assert _asked(polls) == []
        polls.learn_facts(_poll("one").facts)
        assert _asked(polls) == ["one"]
        polls.learn_facts(_poll("stranger").facts)
        assert _asked(polls) == ["one"]

    on_loop(test)


def test_a_line_that_found_nothing_rests_until_there_may_be_work(on_loop: Callable[[Callable[[], None]], None]) -> None:
    def test() -> None:
        polls = _learned(_ANY)
        polls.add(_poll("one"))
        line = polls.ask({"pool"})[0].line
        old = polls.marks({"pool"})
        polls.may_have_work("pool")
        old["pool"].add(line)
        assert _asked(polls) == ["one"], "a hint that came meanwhile disconnects the mark"
        polls.marks({"pool"})["pool"].add(line)
        assert _asked(polls) == []

    on_loop(test)
