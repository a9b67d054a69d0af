"""A run of a thousand jobs: how long its plan takes, and how many happenings a second are reduced.

The matrix needs a job and is needed by one, so expanding it, counting its ends and starting what follows are all in it.
"""

import time

import msgspec

from ostler.domain.machine import Refused
from ostler.workflow.check import check_workflow
from ostler.workflow.model import Workflow
from ostler.workflow.run.given import Given
from ostler.workflow.run.happenings import Happening, JobEnded, JobStarted
from ostler.workflow.run.plan import Plan, make_plan
from ostler.workflow.run.reducer import Reducer, begin
from ostler.workflow.run.state import RunState
from tests.bench.context import Context
from tests.bench.figure import Figure, absolute

GOALS = ("5.5",)

_HAPPENINGS = 100_000
_WORKFLOW = """
on: push
jobs:
  first: {runs-on: x, outputs: {list: x}, steps: [{run: make}]}
  many:
    needs: first
    strategy:
      fail-fast: false
      matrix: {shard: '${{ fromJSON(needs.first.outputs.list) }}', system: [linux, macos]}
    name: Shard ${{ matrix.shard }} on ${{ matrix.system }}
    runs-on: [self-hosted, '${{ matrix.system }}']
    env: {SHARD: '${{ matrix.shard }}'}
    steps: [{run: make test}, {run: make report, if: always()}]
  last: {needs: many, runs-on: x, steps: [{run: make}]}
"""
_LIST = msgspec.json.encode(list(range(500))).decode()


def measure(context: Context) -> list[Figure]:
    workflow = check_workflow("bench.yml", _WORKFLOW).workflow
    assert workflow is not None
    planned = [_plan(workflow) for _ in range(context.scaled(9, quick=2))]
    rates = [_reduce(*_begun(workflow), context.scaled(_HAPPENINGS, quick=4000)) for _ in range(context.repetitions)]
    return [
        absolute(
            "5.5", "plan a matrix of 1,000 jobs with needs", sorted(planned)[len(planned) // 2], "ms", at_most=100
        ),
        absolute("5.5", "reduce the happenings of its jobs", sorted(rates)[len(rates) // 2], "/s", at_least=50_000),
    ]


def _plan(workflow: Workflow) -> float:
    """Milliseconds from the workflow to a thousand jobs that may start."""
    start = time.perf_counter()
    _begun(workflow)
    return (time.perf_counter() - start) * 1000


def _begun(workflow: Workflow) -> tuple[Plan, RunState]:
    plan = make_plan(workflow, {}, Given(github={"workflow": "bench", "event_name": "push"}))
    assert not isinstance(plan, Refused)
    state, _ = begin(plan)
    reducer = Reducer(plan, state)
    effects = reducer.apply(JobEnded("first", "success", {"list": _LIST}))
    assert len(effects) == 1000
    return plan, reducer.state()


def _reduce(plan: Plan, state: RunState, count: int) -> float:
    """Happenings a second: every job starts and ends, in one run after the other until there were so many."""
    happenings: list[Happening] = []
    for index in range(1000):
        happenings += [JobStarted(f"many[{index}]"), JobEnded(f"many[{index}]", "success", {"result": "good"})]
    spent = 0.0
    for _ in range(count // len(happenings)):
        reducer = Reducer(plan, state)
        start = time.perf_counter()
        for happening in happenings:
            reducer.apply(happening)
        spent += time.perf_counter() - start
        assert reducer.book.nodes["last"].state == "queued"
    return count // len(happenings) * len(happenings) / spent
