"""Runs of random workflows with random fates: they end, in order, and nothing happens twice."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec
from hypothesis import given, settings, strategies as st

from ostler.domain.machine import Refused
from ostler.workflow.model import Concurrency, Job, RunsOn, Strategy, Trigger, Workflow
from ostler.workflow.run.concurrency import group_key, join, leave
from ostler.workflow.run.effects import CancelJob, Effect, JoinGroup, LeaveGroup, RunEnded, StartJob
from ostler.workflow.run.happenings import (
    CancelAsked,
    GroupDenied,
    GroupGranted,
    Happening,
    HolderCancelled,
    JobEnded,
    JobResult,
    JobStarted,
)
from ostler.workflow.run.plan import Plan, make_plan, next_attempt
from ostler.workflow.run.reducer import Reducer, advance, begin
from ostler.workflow.run.reruns import From, rerun
from ostler.workflow.run.state import NodeState, RunPhase, RunState
from tests.unit.workflow.run.driven import GIVEN

T = TypeVar("T")

CONDITIONS = ("", "", "", "always()", "failure()", "!cancelled()", "success() || failure()", "false", "fromJSON('{')")
RESULTS: tuple[JobResult, ...] = ("success", "success", "success", "failure", "cancelled")


@st.composite
def jobs(draw: st.DrawFn, names: str, callable_: bool) -> tuple[Job, ...]:
    """Draw jobs. A called workflow has other groups than its caller: two taken in either order may wait for ever."""
    made: list[Job] = []
    for at in range(draw(st.integers(1, 6))):
        cells = draw(st.integers(0, 4))
        called = callable_ and draw(st.integers(0, 3)) == 0
        group = draw(
            st.sampled_from(["", "", "", f"{names}1", f"{names.upper()}1-${{{{ strategy.job-index }}}}", f"{names}2"])
        )
        queue = draw(st.sampled_from(["single", "max"]))
        made.append(
            Job(
                id=f"j{at}",
                needs=tuple(
                    draw(st.sets(st.sampled_from([f"j{each}" for each in range(at)]), max_size=3)) if at else ()
                ),
                if_=draw(st.sampled_from(CONDITIONS)),
                runs_on=RunsOn(labels=("x",)),
                strategy=Strategy(
                    matrix={"x": [float(each) for each in range(cells)]} if cells else None,
                    fail_fast=draw(st.booleans()),
                    max_parallel=draw(st.sampled_from([None, 1.0, 2.0])),
                ),
                concurrency=Concurrency(
                    group=group, queue=queue, cancel_in_progress=queue == "single" and draw(st.booleans())
                )
                if group
                else None,
                continue_on_error=draw(st.integers(0, 4)) == 0,
                uses="./inner.yml" if called else "",
            )
        )
    return tuple(made)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    inner = Workflow(
        path="inner.yml",
        on=(Trigger(event="workflow_call"),),
        jobs=draw(jobs("inner", callable_=False)),
        concurrency=draw(st.sampled_from([None, None, Concurrency(group="inner")])),
    )
    outer = Workflow(
        path="outer.yml",
        jobs=draw(jobs("outer", callable_=True)),
        concurrency=draw(st.sampled_from([None, None, Concurrency(group="run")])),
    )
    plan = make_plan(outer, {"./inner.yml": inner}, GIVEN)
    assert isinstance(plan, Plan)
    return plan


class Fate(Protocol):
    """What a source of chance is asked for."""

    def random(self) -> float: ...
    def choice(self, seq: Sequence[T], /) -> T: ...


class World:
    """Runners and groups that do to a run whatever is drawn, and watch it."""

    def __init__(self, plan: Plan, fate: Fate, begun: tuple[RunState, tuple[Effect, ...]]) -> None:
        self.plan, self.fate = plan, fate
        self.state, effects = begun
        self.open: dict[str, bool] = {}
        """Jobs that were started and have not ended: whether a runner has begun with them."""
        self.ever: set[str] = set()
        self.holders: dict[str, str | None] = {}
        self.waiting: dict[str, list[str]] = {}
        self.said: list[Happening] = []
        self.conclusion = ""
        self.unrest = fate.choice([0, 0.02])
        self.carry_out(effects)

    def carry_out(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            assert not self.conclusion
            match effect:
                case StartJob(node=node):
                    assert node not in self.ever, "started twice"
                    self.ever.add(node)
                    self.open[node] = False
                    self.check_start(node)
                case CancelJob(node=node):
                    assert node in self.open
                case JoinGroup():
                    self.join(effect)
                case LeaveGroup():
                    self.leave(effect)
                case RunEnded():
                    self.conclusion = effect.conclusion
                    assert not self.open

    def check_start(self, node_id: str) -> None:
        """All that a job needs, and all that its callers need, has ended; and its matrix has a place for it."""
        node = self.state.nodes.get(node_id)
        while node is not None:
            for need in node.parents:
                assert self.state.nodes[need].state is NodeState.ENDED
            node = self.state.nodes.get(node.parent)

    def join(self, effect: JoinGroup) -> None:
        key = group_key(effect.group)
        waiting = self.waiting.setdefault(key, [])
        decision = join(
            self.holders.get(key),
            waiting,
            effect.holder,
            cancel_in_progress=effect.cancel_in_progress,
            queue=effect.queue,
        )
        for holder in decision.denied:
            if holder in waiting:
                waiting.remove(holder)
            self.said.append(GroupDenied(holder))
        self.said += [HolderCancelled(holder) for holder in decision.cancelled]
        if decision.granted:
            self.holders[key] = effect.holder
            self.said.append(GroupGranted(effect.holder))
        elif effect.holder not in decision.denied:
            waiting.append(effect.holder)

    def leave(self, effect: LeaveGroup) -> None:
        key = group_key(effect.group)
        waiting = self.waiting.get(key, [])
        if effect.holder in waiting:
            waiting.remove(effect.holder)
        if self.holders.get(key) == effect.holder:
            successor = self.holders[key] = leave(waiting)
            if successor is not None:
                waiting.remove(successor)
                self.said.append(GroupGranted(successor))

    def next(self) -> Happening | None:
        """What happens next: something that was said already comes sooner or later, in order."""
        choices: list[Happening] = []
        if self.said:
            choices.append(self.said[0])
        for node, begun in sorted(self.open.items()):
            choices.append(JobEnded(node, self.fate.choice(RESULTS)) if begun else JobStarted(node))
        if not choices:
            return None
        if self.fate.random() < self.unrest:
            return CancelAsked("x", force=self.fate.random() < 0.5)
        happening = self.fate.choice(choices)
        if self.said and happening is self.said[0]:
            self.said.pop(0)
        return happening

    def live(self) -> None:
        """Let things happen until nothing can happen any more."""
        reducer = Reducer(self.plan, self.state)
        for _ in range(1000):
            happening = self.next()
            if happening is None:
                break
            if isinstance(happening, JobStarted):
                self.open[happening.node] = True
            elif isinstance(happening, JobEnded):
                del self.open[happening.node]
            stored = msgspec.json.decode(msgspec.json.encode(self.state), type=RunState)
            assert stored == self.state
            state, effects = advance(self.plan, stored, happening)
            assert reducer.apply(happening) == effects, "the incremental form answers the same"
            assert reducer.state() == state
            assert advance(self.plan, state, happening) == (state, ()), "a repetition changes nothing"
            self.state = state
            self.carry_out(effects)
            self.check()

    def check(self) -> None:
        running: dict[str, int] = {}
        for node in self.state.nodes.values():
            assert (node.state is NodeState.ENDED) == bool(node.conclusion)
            if node.group and node.state not in (NodeState.ENDED, NodeState.PENDING):
                assert self.holders[group_key(node.group)] == node.id
            if node.inner_group and node.state not in (NodeState.ENDED, NodeState.PENDING):
                assert self.holders[group_key(node.inner_group)] == f"{node.id}/"
            parent = self.state.nodes.get(node.parent)
            if node.state is not NodeState.ENDED and parent is not None:
                assert parent.state is not NodeState.ENDED, "a matrix or call ended before what is below it"
            if (
                parent is not None
                and parent.kind == "matrix"
                and node.state not in (NodeState.ENDED, NodeState.PENDING)
            ):
                running[parent.id] = running.get(parent.id, 0) + 1
        for matrix, count in running.items():
            assert not self.state.nodes[matrix].max_parallel or count <= self.state.nodes[matrix].max_parallel

    def check_end(self) -> None:
        assert self.state.phase is RunPhase.ENDED
        assert self.conclusion == self.state.conclusion
        assert not self.open
        assert not any(self.holders.values()), "a group is still held"
        assert not any(self.waiting.values()), "somebody still waits for a group"
        top = {node.conclusion for node in self.state.nodes.values() if not node.parent}
        expected = next(each for each in ("failure", "cancelled", "success", "skipped") if each in top)
        assert self.conclusion == expected
        for node in self.state.nodes.values():
            below = {each.conclusion for each in self.state.nodes.values() if each.parent == node.id}
            if below and node.cause != "configuration":
                assert node.conclusion == next(
                    each for each in ("failure", "cancelled", "success", "skipped") if each in below
                )


@settings(deadline=None, max_examples=60)
@given(plan=plans(), fate=st.randoms(use_true_random=True))
def test_random_runs_end(plan: Plan, fate: Fate) -> None:
    world = World(plan, fate, begin(plan))
    world.live()
    world.check_end()
    for which in ("failed", From(fate.choice(list(world.state.nodes))), "all"):
        plan = next_attempt(plan)
        begun = rerun(plan, world.state, which)
        if isinstance(begun, Refused):
            continue
        world = World(plan, fate, (begun[0], begun[1]))
        world.live()
        world.check_end()
