"""Where a node stands in the workflows: its scope is the run's own workflow, or one that was called.

A scope knows what its jobs see of the event and of what they were given; a frame is that of one job, with what it
needs. Ids of nodes are read here and nowhere else.
"""

from collections.abc import Mapping
from typing import NamedTuple, cast

from ostler.domain.machine import Refused
from ostler.expr.values import Value
from ostler.protocol.v1.program import NeededJob, Raw
from ostler.workflow.model import Job, Workflow
from ostler.workflow.run.calling import call_key
from ostler.workflow.run.effects import Permissions
from ostler.workflow.run.errors import Misconfigured
from ostler.workflow.run.evaluation import Evaluator
from ostler.workflow.run.graph import Graph, graph_of
from ostler.workflow.run.mentions import spoken_of
from ostler.workflow.run.naming import expected
from ostler.workflow.run.permissions import permissions_of
from ostler.workflow.run.plan import Plan, contexts_of_event
from ostler.workflow.run.state import Node


class Place(NamedTuple):
    """What an id says."""

    scope: str
    job: str
    at: int | None
    """Of a matrix: which of its jobs."""


def place_of(node_id: str) -> Place:
    """Read an id: ``deploy[1]/check[0]`` is the first ``check`` within ``deploy[1]``."""
    scope, _, last = node_id.rpartition("/")
    job, bracket, index = last.partition("[")
    return Place(scope, job, int(index.removesuffix("]")) if bracket else None)


def slot_of(node_id: str) -> str:
    """Return the id of the job that a node is, or is one of: without its place in a matrix."""
    return node_id.rpartition("[")[0] if node_id.endswith("]") else node_id


def within(scope: str, job: str) -> str:
    """Return the id of a job within a scope."""
    return f"{scope}/{job}" if scope else job


def cell_id(slot: str, index: int) -> str:
    """Return the id of one job of a matrix."""
    return f"{slot}[{index}]"


class Scope(NamedTuple):
    """One workflow in its place."""

    id: str
    key: str
    """By what name it was called; nothing for the run's own."""
    workflow: Workflow
    graph: Graph
    contexts: dict[str, Value]
    permissions: Permissions
    caller: Job | None = None
    """The job that calls it."""
    outer: str = ""
    """The scope of that job."""


class Frame(NamedTuple):
    """One job of a scope, once all that it needs has ended."""

    scope: Scope
    job: Job
    contexts: dict[str, Value]
    """``github``, ``inputs``, ``vars``, ``needs``: of them its condition and its strategy can speak."""
    needs: dict[str, NeededJob]
    secrets: tuple[str, ...]
    """Names of the run's secrets that the job speaks of, be it by the names that its caller gave them."""


class Scopes:
    """The scopes of a run, each made when it is first asked for."""

    def __init__(self, plan: Plan, nodes: Mapping[str, Node]) -> None:
        self._plan = plan
        self._nodes = nodes
        self._scopes: dict[str, Scope] = {}
        self._frames: dict[str, Frame] = {}
        self._graphs: dict[str, Graph] = {}

    def of(self, scope_id: str) -> Scope:
        """Return a scope."""
        scope = self._scopes.get(scope_id)
        if scope is None:
            scope = self._scopes[scope_id] = self._called(scope_id) if scope_id else self._own()
        return scope

    def frame(self, node_id: str) -> Frame:
        """Return the frame of a node's job."""
        slot = slot_of(node_id)
        frame = self._frames.get(slot)
        if frame is None:
            frame = self._frames[slot] = self._frame(slot)
        return frame

    def callee(self, scope: Scope, job: Job) -> tuple[str, Workflow]:
        """Return the workflow that a job calls, and by what name."""
        key = call_key(job.uses, scope.key)
        workflow = self._plan.called.get(key)
        if workflow is None:
            raise Misconfigured(f"uses: {key} cannot be found")
        return key, workflow

    def forget(self, scope_id: str) -> None:
        """Forget a scope whose call was given new inputs."""
        self._scopes.pop(scope_id, None)

    def _own(self) -> Scope:
        workflow = self._plan.workflow
        contexts = contexts_of_event(self._plan.given)
        return Scope("", "", workflow, self._graph("", workflow), contexts, permissions_of(workflow.permissions))

    def _called(self, scope_id: str) -> Scope:
        place = place_of(scope_id)
        outer = self.of(place.scope)
        job = outer.graph.jobs[place.job]
        key, workflow = self.callee(outer, job)
        contexts = outer.contexts | {"inputs": as_value(self._nodes[scope_id].inputs)}
        allowed = first_said(job.permissions, outer.permissions)
        permissions = first_said(workflow.permissions, allowed)
        return Scope(scope_id, key, workflow, self._graph(key, workflow), contexts, permissions, job, place.scope)

    def _frame(self, slot: str) -> Frame:
        place = place_of(slot)
        scope = self.of(place.scope)
        needs: dict[str, NeededJob] = {}
        for need in scope.graph.needs[place.job]:
            node = self._nodes[within(place.scope, need)]
            needs[need] = NeededJob(result=node.conclusion, outputs=node.outputs)
        known: dict[str, Value] = {
            need: {"result": each.result, "outputs": as_value(each.outputs)} for need, each in needs.items()
        }
        job = scope.graph.jobs[place.job]
        return Frame(scope, job, scope.contexts | {"needs": known}, needs, self._secrets(scope, job))

    def _secrets(self, scope: Scope, job: Job) -> tuple[str, ...]:
        wanted = spoken_of([job.steps, job.env, job.container, job.services, job.outputs, scope.workflow.env])
        while scope.caller is not None:
            passed = scope.caller.secrets
            if passed != "inherit":
                wanted = spoken_of([text for name, text in passed.items() if wanted is None or name.upper() in wanted])
            scope = self.of(scope.outer)
        present = self._plan.given.secrets
        return tuple(name for name in present if wanted is None or name.upper() in wanted)

    def _graph(self, key: str, workflow: Workflow) -> Graph:
        graph = self._graphs.get(key)
        if graph is None:
            made = graph_of(workflow)
            if isinstance(made, Refused):
                raise Misconfigured(made.reason)
            graph = self._graphs[key] = made
        return graph


def new_node(scope: Scope, job_id: str, caller: str, attempt: int, evaluator: Evaluator) -> Node:
    """Return a job of a scope as it is before anything is decided about it; ``caller`` is the name of the call."""
    job = scope.graph.jobs[job_id]
    return Node(
        id=within(scope.id, job_id),
        kind="matrix" if job.strategy.matrix is not None else "call" if job.uses else "job",
        name=expected(caller, job, scope.contexts, evaluator),
        parent=scope.id,
        parents=tuple(within(scope.id, need) for need in scope.graph.needs[job_id]),
        attempt=attempt,
    )


def first_said(written: dict[str, str] | str | None, otherwise: Permissions) -> Permissions:
    """Return the permissions that are written, or those of whoever is above."""
    return otherwise if written is None else permissions_of(written)


def as_value(raw: Mapping[str, Raw] | Mapping[str, str]) -> Value:
    """Return what was stored as JSON as a value of expressions."""
    return cast("Value", raw)
