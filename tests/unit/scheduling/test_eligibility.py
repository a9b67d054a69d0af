"""Which runner may take which job, shortcoming by shortcoming."""

import msgspec
import pytest

from ostler.domain.job import JobKind, Slot
from ostler.domain.runner import Admission, RunnerStatus
from ostler.scheduling.demand import DemandClass, RunnerFacts, lacks, matching

RUNNER = RunnerFacts(
    id="rnr_1",
    name="alpha",
    pool_id="pool_1",
    labels=frozenset({"linux", "gpu"}),
    kinds=frozenset({JobKind.CI, JobKind.DEPLOYMENT, JobKind.INSIGHTS_SCAN}),
    isolation="sandbox",
)
JOB = DemandClass(id="dem_1", pool_id="pool_1", kind=JobKind.CI, labels=("linux",))

SHORTCOMINGS: list[tuple[str, DemandClass, dict[str, object], str]] = [
    ("another pool", JOB, {"pool_id": "pool_2"}, "it serves another pool"),
    ("label", JOB, {"labels": frozenset({"gpu"})}, "label `linux`"),
    ("kind", JOB, {"kinds": frozenset({JobKind.DEPLOYMENT})}, "it does not take ci jobs"),
    ("offline", JOB, {"status": RunnerStatus.OFFLINE}, "it is offline"),
    ("error", JOB, {"status": RunnerStatus.ERROR}, "it reports an error"),
    ("paused", JOB, {"admission": Admission.PAUSED, "note": "coffee"}, "it is paused (coffee)"),
    ("disabled", JOB, {"admission": Admission.DISABLED}, "it is disabled"),
    ("busy", JOB, {"busy": frozenset({Slot.PRIMARY})}, "its primary slot is busy"),
    ("name", msgspec.structs.replace(JOB, runner_name="beta"), {}, "the name `beta`"),
    ("isolation", msgspec.structs.replace(JOB, isolation="docker"), {}, "isolation `docker` (it has `sandbox`)"),
]


def test_a_runner_that_fits_takes_the_job_and_lacks_nothing() -> None:
    assert matching(RUNNER, [JOB]) == ("dem_1",)
    assert lacks(RUNNER, JOB) == []


@pytest.mark.parametrize(
    ("job", "change", "reason"), [row[1:] for row in SHORTCOMINGS], ids=[r[0] for r in SHORTCOMINGS]
)
def test_a_runner_that_does_not_fit_gets_nothing_and_says_why(
    job: DemandClass, change: dict[str, object], reason: str
) -> None:
    runner = msgspec.structs.replace(RUNNER, **change)
    assert matching(runner, [job]) == ()
    assert lacks(runner, job) == [reason]


def test_a_busy_primary_slot_leaves_the_auxiliary_one_free() -> None:
    scan = DemandClass(id="dem_2", pool_id="pool_1", kind=JobKind.INSIGHTS_SCAN)
    busy = msgspec.structs.replace(RUNNER, status=RunnerStatus.BUSY, busy=frozenset({Slot.PRIMARY}))
    assert matching(busy, [JOB, scan]) == ("dem_2",)
    full = msgspec.structs.replace(busy, busy=frozenset(Slot))
    assert matching(full, [JOB, scan]) == ()


def test_a_runner_without_a_list_of_kinds_takes_every_kind() -> None:
    runner = msgspec.structs.replace(RUNNER, kinds=frozenset())
    jobs = [msgspec.structs.replace(JOB, id=kind.value, kind=kind) for kind in JobKind]
    assert matching(runner, jobs) == tuple(kind.value for kind in JobKind)
    assert matching(runner, jobs, Slot.AUXILIARY) == ("insights_scan", "policy_evaluation")


def test_a_named_job_is_for_that_runner_only() -> None:
    named = msgspec.structs.replace(JOB, runner_name="alpha")
    assert matching(RUNNER, [named]) == ("dem_1",)
    assert matching(msgspec.structs.replace(RUNNER, name="beta"), [named]) == ()
