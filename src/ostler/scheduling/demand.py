"""Demand classes: all waiting jobs that the same runners may take are one class, matched once for all of them.

A runner asks for the classes it matches (rules 4 to 6), the store serves the front of those classes. That is why the
cost of a claim does not depend on how much waits, only on how many classes a runner matches.
"""

from collections.abc import Iterable, Sequence

import msgspec

from ostler.domain.job import JobKind, Slot
from ostler.domain.runner import Admission, RunnerStatus

_LEVELS = {"": 0, "process": 0, "sandbox": 1, "docker": 2, "kubernetes": 2}


class DemandClass(msgspec.Struct, frozen=True, kw_only=True):
    """What a runner must be to take the jobs of this class."""

    id: str
    pool_id: str
    kind: JobKind
    labels: tuple[str, ...] = ()
    runner_name: str = ""
    isolation: str = ""

    @property
    def slot(self) -> Slot:
        """The slot that its jobs occupy."""
        return self.kind.slot


class RunnerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What decides whether a runner may take a job. No kinds means every kind."""

    id: str
    name: str
    pool_id: str
    labels: frozenset[str] = frozenset()
    kinds: frozenset[JobKind] = frozenset()
    isolation: str = "process"
    status: RunnerStatus = RunnerStatus.IDLE
    admission: Admission = Admission.ACTIVE
    note: str = ""
    busy: frozenset[Slot] = frozenset()


def suits(runner: RunnerFacts, demand: DemandClass) -> bool:
    """Whether the runner is of the right sort, whatever it is doing now."""
    return (
        runner.pool_id == demand.pool_id
        and (not demand.runner_name or demand.runner_name == runner.name)
        and (not runner.kinds or demand.kind in runner.kinds)
        and runner.labels.issuperset(demand.labels)
        and _LEVELS.get(runner.isolation, 0) >= _LEVELS.get(demand.isolation, 0)
    )


def available(runner: RunnerFacts) -> bool:
    """Whether the runner is there and people let it take work."""
    return runner.admission is Admission.ACTIVE and runner.status in (RunnerStatus.IDLE, RunnerStatus.BUSY)


def matching(runner: RunnerFacts, demands: Iterable[DemandClass], slot: Slot | None = None) -> tuple[str, ...]:
    """Return the ids of the classes that the runner may take now, of one slot or of both."""
    if not available(runner):
        return ()
    return tuple(
        demand.id
        for demand in demands
        if (slot is None or demand.slot is slot) and demand.slot not in runner.busy and suits(runner, demand)
    )


def lacks(runner: RunnerFacts, demand: DemandClass) -> list[str]:
    """Return everything that keeps the runner from taking the class now; nothing if it may."""
    missing: list[str] = []
    if runner.pool_id != demand.pool_id:
        missing.append("it serves another pool")
    if demand.runner_name and demand.runner_name != runner.name:
        missing.append(f"the name `{demand.runner_name}`")
    missing += [f"label `{label}`" for label in demand.labels if label not in runner.labels]
    if runner.kinds and demand.kind not in runner.kinds:
        missing.append(f"it does not take {demand.kind.value} jobs")
    if _LEVELS.get(runner.isolation, 0) < _LEVELS.get(demand.isolation, 0):
        missing.append(f"isolation `{demand.isolation}` (it has `{runner.isolation}`)")
    if runner.admission is not Admission.ACTIVE:
        missing.append(f"it is {runner.admission.value}" + (f" ({runner.note})" if runner.note else ""))
    if runner.status in (RunnerStatus.OFFLINE, RunnerStatus.RETIRED):
        missing.append("it is offline")
    elif runner.status is RunnerStatus.ERROR:
        missing.append("it reports an error")
    if runner.busy and demand.slot in runner.busy:
        missing.append(f"its {demand.slot.value} slot is busy")
    return missing


def by_pool(demands: Sequence[DemandClass]) -> dict[str, list[DemandClass]]:
    """Return the classes of each pool, so that a runner is matched only against its own."""
    grouped: dict[str, list[DemandClass]] = {}
    for demand in demands:
        grouped.setdefault(demand.pool_id, []).append(demand)
    return grouped
