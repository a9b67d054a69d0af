"""Matching runners and demand classes: what matches lacks nothing, and what lacks something does not match."""

import msgspec
from hypothesis import given, strategies as some

from ostler.domain.job import JobKind, Slot
from ostler.domain.runner import Admission, RunnerStatus
from ostler.scheduling.demand import DemandClass, RunnerFacts, by_pool, lacks, matching, suits

words = some.sampled_from(["linux", "x64", "arm64", "gpu"])
levels = some.sampled_from(["process", "sandbox", "docker", "kubernetes"])
pools = some.sampled_from(["pool_1", "pool_2"])
names = some.sampled_from(["alpha", "beta"])

demands = some.builds(
    DemandClass,
    id=some.uuids().map(str),
    pool_id=pools,
    kind=some.sampled_from(JobKind),
    labels=some.frozensets(words).map(lambda chosen: tuple(sorted(chosen))),
    runner_name=some.just("") | names,
    isolation=some.just("") | levels,
)
runners = some.builds(
    RunnerFacts,
    id=some.just("rnr_1"),
    name=names,
    pool_id=pools,
    labels=some.frozensets(words),
    kinds=some.frozensets(some.sampled_from(JobKind)),
    isolation=levels,
    status=some.sampled_from(RunnerStatus),
    admission=some.sampled_from(Admission),
    busy=some.frozensets(some.sampled_from(Slot)),
)

PLAIN = DemandClass(id="dem_1", pool_id="pool_1", kind=JobKind.CI)
RUNNER = RunnerFacts(id="rnr_1", name="alpha", pool_id="pool_1")


@given(runners, some.lists(demands))
def test_a_class_matches_exactly_if_nothing_is_lacking(runner: RunnerFacts, classes: list[DemandClass]) -> None:
    matched = set(matching(runner, classes))
    for demand in classes:
        assert (demand.id in matched) == (lacks(runner, demand) == [])
        if demand.id in matched:
            assert suits(runner, demand)


@given(runners, some.lists(demands), words)
def test_one_more_label_never_loses_work(runner: RunnerFacts, classes: list[DemandClass], label: str) -> None:
    richer = msgspec.structs.replace(runner, labels=runner.labels | {label})
    assert set(matching(runner, classes)) <= set(matching(richer, classes))


def test_each_slot_is_asked_for_by_itself() -> None:
    scan = DemandClass(id="dem_2", pool_id="pool_1", kind=JobKind.INSIGHTS_SCAN)
    assert matching(RUNNER, [PLAIN, scan]) == ("dem_1", "dem_2")
    assert matching(RUNNER, [PLAIN, scan], Slot.AUXILIARY) == ("dem_2",)
    busy = msgspec.structs.replace(RUNNER, busy=frozenset({Slot.PRIMARY}))
    assert matching(busy, [PLAIN, scan]) == ("dem_2",)


def test_stronger_isolation_serves_weaker_demands() -> None:
    boxed = msgspec.structs.replace(PLAIN, isolation="sandbox")
    assert not suits(RUNNER, boxed)
    for level in ("sandbox", "docker", "kubernetes"):
        assert suits(msgspec.structs.replace(RUNNER, isolation=level), boxed)


def test_classes_are_grouped_by_pool() -> None:
    other = msgspec.structs.replace(PLAIN, id="dem_2", pool_id="pool_2")
    assert by_pool([PLAIN, other]) == {"pool_1": [PLAIN], "pool_2": [other]}
