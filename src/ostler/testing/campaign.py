"""Many seeds of one scenario: run them, count what they met, and print how to replay the ones that failed.

Run as `python -m ostler.testing.campaign`, with `--scenario MODULE:FUNCTION` for another scenario than the platform.
Strings hash alike in every run: the process restarts itself with a fixed hash seed, so a replay is exact even where a
program iterates over a set of strings.
"""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from itertools import islice
from multiprocessing import get_context
from traceback import format_exc
from typing import NamedTuple

from ostler.effects import Clock, system_effects
from ostler.testing.faults import Fault
from ostler.testing.world import Report, Scenario, World, simulate

SLICE = 10
DEFAULT = "ostler.testing.platform:scenario"
_NEWLINE = "\n"
_STORY_LINES = 25
_PROGRESS_SECONDS = 10.0


class Plan(NamedTuple):
    """What to run; it is sent to the worker processes."""

    scenario: str
    sabotage: frozenset[str]


class Finding(NamedTuple):
    """A seed that failed."""

    seed: int
    summary: str
    details: str
    story: tuple[str, ...] = ()
    """What was observed of the jobs that the failure names, in order."""


class Summary(NamedTuple):
    """What a campaign has shown."""

    seeds: int
    findings: list[Finding]
    faults: Counter[Fault]
    steps: int
    virtual_seconds: float
    real_seconds: float


def load(name: str) -> Scenario:
    """The scenario named `module:function`."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def one_seed(plan: Plan, seed: int) -> Report | Finding:
    """Run one seed; a failure of any kind is a finding."""
    world = World(seed, sabotage=plan.sabotage)
    try:
        return simulate(world, load(plan.scenario))
    except Exception as error:  # noqa: BLE001 - whatever a run raises is what it found
        summary = f"{type(error).__name__}: {str(error).strip().rpartition(_NEWLINE)[2]}"
        return Finding(seed, summary, format_exc(), tuple(_story(world, str(error))))


def _story(world: World, told: str) -> Iterator[str]:
    for job, record in world.history.jobs.items():
        if job in told:
            yield f"{job} ({record.kind})"
            yield from (f"{seconds:12.3f}  {text}" for seconds, text in record.story[-_STORY_LINES:])


def some_seeds(plan: Plan, seeds: Sequence[int]) -> list[Report | Finding]:
    return [one_seed(plan, seed) for seed in seeds]


def all_seeds(plan: Plan, seeds: range, workers: int) -> Iterator[Report | Finding]:
    """The results in order of seed."""
    if workers == 1:
        yield from (one_seed(plan, seed) for seed in seeds)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for results in pool.map(some_seeds, *zip(*((plan, part) for part in _slices(seeds)), strict=True)):
            yield from results


def summarize(
    results: Iterable[Report | Finding], clock: Clock, say: Callable[[str], None] = lambda _: None
) -> Summary:
    """Count; long campaigns say from time to time how far they are."""
    begun = clock.monotonic()
    findings: list[Finding] = []
    faults: Counter[Fault] = Counter()
    seeds = steps = 0
    seconds = 0.0
    due = begun + _PROGRESS_SECONDS
    for result in results:
        seeds += 1
        if (now := clock.monotonic()) > due:
            due = now + _PROGRESS_SECONDS
            say(f"  {seeds} seeds, {len(findings)} failed, {seeds / (now - begun):.1f} seeds/s")
        if isinstance(result, Finding):
            findings.append(result)
            say(f"  seed {result.seed}: {result.summary}")
        else:
            faults.update(result.faults)
            steps += result.steps
            seconds += result.seconds
    return Summary(seeds, findings, faults, steps, seconds, clock.monotonic() - begun)


def describe(summary: Summary, plan: Plan) -> Iterator[str]:
    """The result as lines of text."""
    real = max(summary.real_seconds, 1e-9)
    yield (
        f"{summary.seeds} seeds, {len(summary.findings)} failed; {summary.steps:,} steps, "
        f"{summary.virtual_seconds:,.0f} virtual seconds in {real:.1f} s "
        f"({summary.virtual_seconds / real:,.0f} x real time, {summary.seeds / real:.1f} seeds/s)"
    )
    for fault in Fault:
        yield f"  {fault:24} {summary.faults[fault]:>9,}"
    for finding in summary.findings[:20]:
        yield f"seed {finding.seed}: {finding.summary}"
        yield from (f"    {line}" for line in finding.story)
        yield f"  replay: {replay_command(plan, finding.seed)}"


def replay_command(plan: Plan, seed: int) -> str:
    if plan == Plan(DEFAULT, frozenset()):
        return f"make sim ARGS='--seed {seed} --trace'"
    sabotage = "".join(f" --sabotage {name}" for name in sorted(plan.sabotage))
    return f"python -m ostler.testing.campaign --scenario {plan.scenario} --seed {seed} --trace{sabotage}"


def replay(plan: Plan, seed: int, *, trace: bool) -> bool:
    """Run one seed in the open."""
    world = World(seed, sabotage=plan.sabotage)
    if trace:
        world.loop.trace.listener = lambda seconds, text: _say(f"{seconds:14.6f}  {text}")
    try:
        report = simulate(world, load(plan.scenario))
    except Exception:  # noqa: BLE001 - whatever a run raises is what it found
        _say(format_exc().rstrip())
        return False
    _say(f"seed {seed} is clean: {report.steps:,} steps, {report.seconds:,.1f} s, fingerprint {report.fingerprint}")
    return True


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ostler.testing.campaign", description="Run a scenario under seeds."
    )
    parser.add_argument("--scenario", default=DEFAULT, help="module:function that takes a World")
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="run this seed only, in the open")
    parser.add_argument("--trace", action="store_true", help="with --seed: print what happens")
    parser.add_argument("--sabotage", action="append", default=[], help="plant this bug; it must then be found")
    parser.add_argument("--workers", type=int, default=1, help="processes to run seeds in")
    options = parser.parse_args(arguments)
    plan = Plan(options.scenario, frozenset(options.sabotage))
    if options.seed is not None:
        return 0 if replay(plan, options.seed, trace=options.trace) else 1
    seeds = range(options.start, options.start + options.seeds)
    summary = summarize(all_seeds(plan, seeds, options.workers), system_effects().clock, _say)
    for line in describe(summary, plan):
        _say(line)
    return 1 if summary.findings else 0


def _slices(seeds: range) -> Iterator[list[int]]:
    rest = iter(seeds)
    while part := list(islice(rest, SLICE)):
        yield part


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _fix_hashes() -> None:
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, sys.orig_argv, os.environ | {"PYTHONHASHSEED": "0"})


if __name__ == "__main__":
    _fix_hashes()
    sys.exit(main(sys.argv[1:]))
