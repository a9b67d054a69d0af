"""Running again: all, what failed, or from one job on. What is kept counts with the outputs that it had.

With a job all jobs that need it run again, directly or through others. Of a matrix only those that are meant run again,
the whole of one that comes later. A call goes on with what is kept below it, and whoever needs the call follows.
"""

from typing import Literal, NamedTuple, TypeAlias

import msgspec

from ostler.domain.machine import Refused
from ostler.workflow.run.effects import Effect
from ostler.workflow.run.evaluation import Evaluator
from ostler.workflow.run.plan import Plan
from ostler.workflow.run.reducer import Reducer, begin
from ostler.workflow.run.scopes import Scopes, new_node, place_of, slot_of, within
from ostler.workflow.run.state import Node, NodeState, RunPhase, RunState


class From(NamedTuple):
    """One node, and all that follows from it."""

    node: str


Which: TypeAlias = Literal["all", "failed"] | From


def rerun(plan: Plan, state: RunState, which: Which) -> tuple[RunState, tuple[Effect, ...]] | Refused:
    """Begin another attempt of a run that has ended; the plan is that of ``next_attempt``."""
    if state.phase is not RunPhase.ENDED:
        return Refused("run_not_ended", "the run has not ended")
    if which == "all":
        return begin(plan)
    if which == "failed":
        seeds = _failed(state)
        if not seeds:
            return Refused("nothing_failed", "no job of the run failed or was cancelled")
    elif which.node not in state.nodes:
        return Refused("job_unknown", f"the run has no job {which.node!r}")
    else:
        seeds = [which.node]
    again = _Again(plan, state)
    for seed in seeds:
        again.mark(seed)
    reducer = Reducer(
        plan,
        RunState(attempt=plan.attempt, phase=RunPhase.HELD, turns=state.turns, nodes=again.nodes()),
    )
    effects = reducer.open()
    return reducer.state(), effects


def _failed(state: RunState) -> list[str]:
    """Return the jobs that failed or were cancelled, and what could not be expanded or called at all."""
    containers = {node.parent for node in state.nodes.values()}
    return [
        node.id
        for node in state.nodes.values()
        if node.id not in containers and (node.failed or node.conclusion in ("failure", "cancelled"))
    ]


class _Again:
    """What of a run is kept, opened again, and done anew."""

    def __init__(self, plan: Plan, state: RunState) -> None:
        self._plan = plan
        self._nodes = state.nodes
        self._scopes = Scopes(plan, state.nodes)
        self._anew: set[str] = set()
        self._opened: set[str] = set()

    def mark(self, node_id: str) -> None:
        """Mark a node, and what follows from it up to the top."""
        while node_id:
            place, slot = place_of(node_id), slot_of(node_id)
            if node_id not in self._opened:
                self._anew.add(node_id)
            if node_id != slot:
                self._opened.add(slot)
            graph = self._scopes.of(place.scope).graph
            self._anew.update(within(place.scope, job) for job in graph.downstream({place.job}))
            node_id = place.scope
            if node_id:
                self._opened.add(node_id)

    def nodes(self) -> dict[str, Node]:
        """Return the nodes of the new attempt, in the order of the old ones."""
        nodes: dict[str, Node] = {}
        gone: set[str] = set()
        evaluator = Evaluator()
        for node in self._nodes.values():
            if node.parent in gone:
                gone.add(node.id)
            elif node.id in self._anew:
                gone.add(node.id)
                nodes[node.id] = self._fresh(node, evaluator)
            elif node.id in self._opened:
                state = NodeState.RUNNING if node.kind == "matrix" else NodeState.PENDING
                nodes[node.id] = msgspec.structs.replace(_blank(node, self._plan.attempt), state=state)
            else:
                nodes[node.id] = node
        return nodes

    def _fresh(self, node: Node, evaluator: Evaluator) -> Node:
        if node.id != slot_of(node.id):
            return msgspec.structs.replace(
                _blank(node, self._plan.attempt), state=NodeState.PENDING, inputs={}, continue_on_error=False
            )
        place = place_of(node.id)
        caller = self._nodes[place.scope].name if place.scope else ""
        return new_node(self._scopes.of(place.scope), place.job, caller, self._plan.attempt, evaluator)


def _blank(node: Node, attempt: int) -> Node:
    return msgspec.structs.replace(
        node, conclusion="", failed=False, outputs={}, note="", cause="", turn=0, attempt=attempt
    )
