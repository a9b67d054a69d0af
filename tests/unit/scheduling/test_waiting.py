"""The sentence that says why a job waits, for every reason there is."""

import msgspec
import pytest
from hypothesis import given, strategies as some

from ostler.domain.job import JobKind, Slot
from ostler.domain.runner import Admission, RunnerStatus
from ostler.scheduling.demand import DemandClass, RunnerFacts
from ostler.scheduling.waiting import Place, PoolFacts, explain
from tests.unit.scheduling.test_demand import demands, runners

POOL = PoolFacts(name="big")
FRONT = Place(ahead=0)
PLAIN = DemandClass(id="dem_1", pool_id="pool_1", kind=JobKind.CI)
RUNNER = RunnerFacts(id="rnr_1", name="alpha", pool_id="pool_1", labels=frozenset({"arm64", "linux"}))
BUSY = msgspec.structs.replace(RUNNER, busy=frozenset({Slot.PRIMARY}))


def demand(**changes: object) -> DemandClass:
    return msgspec.structs.replace(PLAIN, **changes)


def runner(**changes: object) -> RunnerFacts:
    return msgspec.structs.replace(RUNNER, **changes)


@pytest.mark.parametrize(
    ("wanted", "present", "code", "words"),
    [
        (PLAIN, [], "no_runner", "has no runner any more"),
        (demand(labels=("arm65",)), [RUNNER], "label_missing", "no runner of pool `big` has label `arm65`: did you"),
        (demand(labels=("gpu",)), [RUNNER], "label_missing", "has label `gpu`"),
        (demand(isolation="docker"), [RUNNER], "no_match", "isolation `docker`"),
        (PLAIN, [runner(kinds=frozenset({JobKind.DEPLOYMENT}))], "kind_disabled", "takes ci jobs"),
        (PLAIN, [runner(status=RunnerStatus.OFFLINE)], "offline", "`alpha`"),
        (PLAIN, [runner(admission=Admission.PAUSED, note="coffee")], "not_admitted", "is paused (coffee)"),
        (PLAIN, [runner(admission=Admission.DISABLED)], "not_admitted", "is disabled"),
        (PLAIN, [runner(status=RunnerStatus.ERROR)], "runner_error", "reports an error"),
        (PLAIN, [BUSY], "busy", "`alpha`, the only runner that fits, is busy"),
        (PLAIN, [BUSY, BUSY], "busy", "all 2 runners are busy"),
        (PLAIN, [RUNNER], "turn", "`alpha` is free"),
        (demand(runner_name="alhpa"), [RUNNER], "pinned_absent", "did you mean `alpha`?"),
        (demand(runner_name="alpha"), [BUSY], "busy", "slot is busy"),
        (demand(runner_name="alpha", labels=("gpu",)), [RUNNER], "pinned_unfit", "it lacks label `gpu`"),
        (demand(runner_name="alpha"), [RUNNER], "turn", "is free"),
    ],
)
def test_the_first_unmet_condition_is_named(
    wanted: DemandClass, present: list[RunnerFacts], code: str, words: str
) -> None:
    reason = explain(wanted, POOL, present, FRONT)
    assert reason.code == code
    assert words in reason.sentence
    assert reason.would_start or code == "turn"


def test_a_disabled_or_fresh_pool_says_so() -> None:
    disabled = explain(PLAIN, PoolFacts(name="big", disabled=True), [RUNNER], FRONT)
    assert (disabled.code, disabled.would_start) == ("pool_disabled", "enable pool `big`")
    fresh = explain(PLAIN, PoolFacts(name="big", ever_live=False), [], FRONT)
    assert "never had a runner" in fresh.sentence
    assert "ostler token create --pool big" in fresh.would_start


def test_near_matches_come_nearest_first_with_what_each_lacks() -> None:
    nothing: frozenset[str] = frozenset()
    far = runner(name="beta", labels=nothing, admission=Admission.PAUSED)
    reason = explain(demand(labels=("gpu", "linux")), POOL, [far, RUNNER], FRONT)
    assert [(near.runner_name, near.lacks) for near in reason.near] == [
        ("alpha", ["label `gpu`"]),
        ("beta", ["label `gpu`", "label `linux`", "it is paused"]),
    ]


def test_place_and_estimate() -> None:
    place = Place(ahead=3, mean_duration_micros=2_000_000)
    reason = explain(PLAIN, POOL, [BUSY, BUSY], place)
    assert (reason.position, reason.estimate_ms) == (4, 4000)
    assert explain(PLAIN, POOL, [BUSY], Place(ahead=2000, more=True)).position is None
    assert explain(PLAIN, POOL, [], place).estimate_ms is None


@given(demands, some.lists(runners, max_size=5), some.booleans(), some.integers(0, 5000))
def test_there_is_always_one_reason_with_a_sentence(
    wanted: DemandClass, present: list[RunnerFacts], disabled: bool, ahead: int
) -> None:
    mine = [msgspec.structs.replace(each, pool_id=wanted.pool_id) for each in present]
    reason = explain(wanted, PoolFacts(name="big", disabled=disabled), mine, Place(ahead=ahead))
    assert reason.code.isidentifier()
    assert reason.sentence
    assert len(reason.near) <= 5
    assert all(near.lacks for near in reason.near)
