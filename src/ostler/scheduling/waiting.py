"""Why a job is not running: the exact unmet condition, who nearly fits, and what would start it now (rule 13)."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import msgspec

from ostler.domain.runner import Admission, RunnerStatus
from ostler.protocol.v1.run_messages import NearMatch, WaitReason
from ostler.scheduling.demand import DemandClass, RunnerFacts, available, lacks, suits

_NEAR = 5
_GONE = (RunnerStatus.OFFLINE, RunnerStatus.RETIRED)


class PoolFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What of a job's pool decides whether anything can start there."""

    name: str
    disabled: bool = False
    ever_live: bool = True


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where in its class's queue a job stands. ``more`` says that there are more ahead than were counted."""

    ahead: int
    more: bool = False
    mean_duration_micros: int | None = None


def explain(demand: DemandClass, pool: PoolFacts, runners: Sequence[RunnerFacts], place: Place) -> WaitReason:
    """Return the first condition that keeps a job of this class from starting, with what helps to meet it."""
    suited = [runner for runner in runners if suits(runner, demand)]
    reason = _obstacle(demand, pool, runners, suited)
    takers = sum(1 for runner in suited if available(runner))
    near = [] if reason.code in ("pool_disabled", "turn") else _near(demand, runners)
    estimate = None
    if takers and place.mean_duration_micros is not None and reason.code in ("busy", "turn"):
        waves = (place.ahead + (reason.code == "busy")) / takers
        estimate = int(waves * place.mean_duration_micros / 1000)
    return msgspec.structs.replace(
        reason, position=None if place.more else place.ahead + 1, near=near, estimate_ms=estimate
    )


def _obstacle(
    demand: DemandClass, pool: PoolFacts, runners: Sequence[RunnerFacts], suited: Sequence[RunnerFacts]
) -> WaitReason:
    if pool.disabled:
        return WaitReason("pool_disabled", f"pool `{pool.name}` is disabled", f"enable pool `{pool.name}`")
    if not runners:
        sentence = "has no runner any more" if pool.ever_live else "has never had a runner"
        return WaitReason(
            "no_runner", f"pool `{pool.name}` {sentence}", f"enrol a runner: `ostler token create --pool {pool.name}`"
        )
    if demand.runner_name:
        return _pinned(demand, pool, runners)
    if not suited:
        return _unsuited(demand, pool, runners)
    present = [runner for runner in suited if runner.status not in _GONE]
    if not present:
        names = _listed(runner.name for runner in suited)
        return WaitReason("offline", f"every runner that fits is offline: {names}", f"start one of them: {names}")
    admitted = [runner for runner in present if runner.admission is Admission.ACTIVE]
    if not admitted:
        first = present[0]
        note = f" ({first.note})" if first.note else ""
        return WaitReason(
            "not_admitted",
            f"every runner that fits is held back: `{first.name}` is {first.admission.value}{note}",
            f"let it work again: `ostler runner {_way_back(first.admission)} {first.name}`",
        )
    if all(runner.status is RunnerStatus.ERROR for runner in admitted):
        return WaitReason("runner_error", "every runner that fits reports an error", f"look at `{admitted[0].name}`")
    return _busy_or_next(demand, admitted)


def _busy_or_next(demand: DemandClass, admitted: Sequence[RunnerFacts]) -> WaitReason:
    free = [runner for runner in admitted if available(runner) and demand.slot not in runner.busy]
    if free:
        return WaitReason("turn", f"`{free[0].name}` is free and takes what is due first")
    count = len(admitted)
    who = f"`{admitted[0].name}`, the only runner that fits, is busy" if count == 1 else f"all {count} runners are busy"
    return WaitReason("busy", who, "one of them finishing, or one more runner that fits")


def _pinned(demand: DemandClass, pool: PoolFacts, runners: Sequence[RunnerFacts]) -> WaitReason:
    named = next((runner for runner in runners if runner.name == demand.runner_name), None)
    if named is None:
        guess = _guess(demand.runner_name, (runner.name for runner in runners))
        return WaitReason(
            "pinned_absent",
            f"the job is pinned to runner `{demand.runner_name}`, which pool `{pool.name}` does not have{guess}",
            f"start a runner named `{demand.runner_name}`, or submit without a pinned runner",
        )
    missing = lacks(named, demand)
    if not missing:
        return WaitReason("turn", f"`{named.name}` is free and takes what is due first")
    code = "busy" if missing == [f"its {demand.slot.value} slot is busy"] else "pinned_unfit"
    return WaitReason(
        code,
        f"the job is pinned to runner `{named.name}`, and {_missing(missing)}",
        f"`{named.name}` being ready for it; a pinned job never goes elsewhere",
    )


def _unsuited(demand: DemandClass, pool: PoolFacts, runners: Sequence[RunnerFacts]) -> WaitReason:
    offered = {label for runner in runners for label in runner.labels}
    for label in demand.labels:
        if label not in offered:
            return WaitReason(
                "label_missing",
                f"no runner of pool `{pool.name}` has label `{label}`{_guess(label, offered)}",
                f"a runner with label `{label}`",
            )
    if not any(not runner.kinds or demand.kind in runner.kinds for runner in runners):
        return WaitReason(
            "kind_disabled",
            f"no runner of pool `{pool.name}` takes {demand.kind.value} jobs",
            f"enable {demand.kind.value} jobs on the pool or on a runner",
        )
    wanted = [f"label `{label}`" for label in demand.labels]
    wanted += [f"isolation `{demand.isolation}`"] if demand.isolation else []
    return WaitReason(
        "no_match",
        f"no single runner of pool `{pool.name}` has everything: {', '.join(wanted) or demand.kind.value}",
        "one runner with all of it",
    )


def _near(demand: DemandClass, runners: Sequence[RunnerFacts]) -> list[NearMatch]:
    ranked = sorted(
        ((lacks(runner, demand), runner.name) for runner in runners), key=lambda pair: (len(pair[0]), pair[1])
    )
    return [NearMatch(name, missing) for missing, name in ranked[:_NEAR] if missing]


def _guess(word: str, known: Iterable[str]) -> str:
    close = get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f": did you mean `{close[0]}`?" if close else ""


def _listed(names: Iterable[str]) -> str:
    chosen = sorted(names)
    return ", ".join(f"`{name}`" for name in chosen[:3]) + (f" and {len(chosen) - 3} more" if len(chosen) > 3 else "")


def _missing(missing: Sequence[str]) -> str:
    return ", ".join(f"it lacks {each}" if each.startswith(("label", "isolation")) else each for each in missing)


def _way_back(admission: Admission) -> str:
    return "enable" if admission in (Admission.DISABLED, Admission.QUARANTINED) else "resume"
