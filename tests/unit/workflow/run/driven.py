"""A run that a test drives: it reads workflows from text, tells what happens, and keeps what must be done.

After every happening the state must survive being stored, and a repetition must change nothing.
"""

from collections.abc import Mapping
from textwrap import dedent
from typing import TypeVar

import msgspec

from ostler.domain.machine import Refused
from ostler.workflow.builder import build
from ostler.workflow.model import Workflow
from ostler.workflow.reader import read
from ostler.workflow.run.effects import CancelJob, Effect, JoinGroup, LeaveGroup, RunEnded, StartedJob, StartJob
from ostler.workflow.run.given import Given
from ostler.workflow.run.happenings import CancelAsked, Happening, JobEnded, JobResult, JobStarted
from ostler.workflow.run.plan import Plan, make_plan
from ostler.workflow.run.reducer import advance, begin
from ostler.workflow.run.state import Node, RunState

E = TypeVar("E", bound=Effect)

STEPS = "runs-on: x, steps: [{run: 'true'}]"
GIVEN = Given(github={"workflow": "W", "event_name": "push", "ref": "refs/heads/main", "actor": "ada"})


def workflow_of(text: str, path: str = ".github/workflows/w.yml") -> Workflow:
    """Read a workflow, unchecked; ``STEPS`` stands for what a job needs to have."""
    document = read(path, dedent(text).replace("STEPS", STEPS).encode())
    assert not document.findings
    return build(path, document.root)


def plan_of(text: str, /, given: Given = GIVEN, **called: str) -> Plan:
    """Make a plan; the keywords are called workflows, by the names of their files."""
    plan = refusable_plan(text, called, given)
    assert isinstance(plan, Plan), plan
    return plan


def refusable_plan(text: str, called: Mapping[str, str] | None = None, given: Given = GIVEN) -> Plan | Refused:
    """Make a plan, or say why there is none."""
    others = {f"./{name}.yml": workflow_of(each, f"{name}.yml") for name, each in (called or {}).items()}
    return make_plan(workflow_of(text), others, given)


class Driven:
    """One run."""

    def __init__(self, plan: Plan, begun: tuple[RunState, tuple[Effect, ...]] | None = None) -> None:
        self.plan = msgspec.json.decode(msgspec.json.encode(plan), type=Plan)
        self.state, effects = begun or begin(self.plan)
        self.effects: list[Effect] = list(effects)

    def tell(self, happening: Happening) -> tuple[Effect, ...]:
        """Let something happen, twice."""
        before = msgspec.json.encode(self.state)
        state, effects = advance(self.plan, self.state, happening)
        assert msgspec.json.encode(self.state) == before
        stored = msgspec.json.encode(state)
        self.state = msgspec.json.decode(stored, type=RunState)
        assert msgspec.json.encode(self.state) == stored
        again, repeated = advance(self.plan, self.state, happening)
        assert (again, repeated) == (self.state, ())
        self.effects += effects
        return effects

    def end(self, *nodes: str, result: JobResult = "success", outputs: Mapping[str, str] | None = None) -> None:
        """Let jobs start and end."""
        for node in nodes:
            self.tell(JobStarted(node))
            self.tell(JobEnded(node, result, dict(outputs or {})))

    def fail(self, *nodes: str) -> None:
        self.end(*nodes, result="failure")

    def cancel(self, *, force: bool = False) -> None:
        self.tell(CancelAsked("asked by ada", force))

    def node(self, node_id: str) -> Node:
        return self.state.nodes[node_id]

    def conclusions(self) -> dict[str, str]:
        return {node.id: node.conclusion for node in self.state.nodes.values() if node.conclusion}

    def of(self, kind: type[E]) -> list[E]:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def started(self) -> list[str]:
        return [effect.node for effect in self.of(StartJob)]

    def job(self, node_id: str) -> StartedJob:
        return next(effect.job for effect in self.of(StartJob) if effect.node == node_id)

    def cancelled(self) -> list[str]:
        return [effect.node for effect in self.of(CancelJob)]

    def joined(self) -> list[tuple[str, str]]:
        return [(effect.holder, effect.group) for effect in self.of(JoinGroup)]

    def left(self) -> list[str]:
        return [effect.holder for effect in self.of(LeaveGroup)]

    @property
    def conclusion(self) -> str:
        ended = self.of(RunEnded)
        assert len(ended) == bool(self.state.conclusion)
        return ended[0].conclusion if ended else ""


def driven(text: str, given: Given = GIVEN, **called: str) -> Driven:
    return Driven(plan_of(text, given, **called))
