"""One look at a run: what has become of it since, told to the run logic, and what that wants to be done.

Nothing here waits or writes. What could not be done (a job that no pool takes, a secret that cannot be masked) is told
as the end of its job in the same look.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from sqlalchemy import Connection

from ostler.domain.job import JobState
from ostler.domain.machine import Refused
from ostler.store import concurrency_groups, target_values, targets, workflow_nodes, workflow_runs
from ostler.store.concurrency_groups import Membership
from ostler.store.targets import Repository
from ostler.store.workflow_nodes import EndedJob
from ostler.store.workflow_runs import Row
from ostler.workflow.run.effects import CancelJob, Effect, JoinGroup, LeaveGroup, StartJob
from ostler.workflow.run.happenings import (
    Approved,
    CancelAsked,
    GroupDenied,
    GroupGranted,
    Happening,
    HolderCancelled,
    JobEnded,
    JobResult,
)
from ostler.workflow.run.plan import Plan
from ostler.workflow.run.reducer import Reducer
from ostler.workflow.run.reruns import From, Which, rerun
from ostler.workflow.run.state import Node, NodeState, RunPhase, RunState

_RESULTS: Mapping[JobState, JobResult] = {JobState.SUCCEEDED: "success", JobState.CANCELLED: "cancelled"}


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a run, all of it at one moment."""

    row: Row
    pool: str
    sealed_secrets: dict[str, bytes]
    ended: list[EndedJob]
    memberships: list[Membership]
    before: RunState | None
    """Where the attempt before ended, if this one has yet to begin from there."""


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """What a look led to: the next state, the nodes that changed with their places, and what is to be done."""

    state: RunState
    nodes: tuple[tuple[int, Node], ...]
    starts: tuple[StartJob, ...]
    cancels: tuple[CancelJob, ...]
    groups: tuple[JoinGroup | LeaveGroup, ...]
    changed: bool


def see(connection: Connection, run_id: str) -> Seen | None:
    """Read a run; nothing if there is none, or if it has ended."""
    row = workflow_runs.get(connection, run_id)
    if row is None or row.ended_at is not None:
        return None
    repository = targets.get(connection, row.target_id)
    before = None
    if row.state is None and row.rerun:
        earlier = workflow_runs.attempt(connection, row.first_run_id, row.attempt - 1)
        before = None if earlier is None else earlier.state
    return Seen(
        row=row,
        pool=repository.view.pool if isinstance(repository, Repository) else "",
        sealed_secrets=target_values.sealed_secrets(connection, row.target_id) if row.trusted else {},
        ended=workflow_nodes.ended_jobs(connection, run_id),
        memberships=concurrency_groups.of_run(connection, run_id),
        before=before,
    )


def move(plan: Plan, seen: Seen, impossible: Mapping[str, str]) -> Move:
    """Tell the run what happened, and what of it turned out to be impossible: the reasons, by node."""
    reducer, effects = _opened(plan, seen)
    for happening in _happenings(seen, reducer):
        effects += reducer.apply(happening)
    starts = [effect for effect in effects if isinstance(effect, StartJob)]
    while refused := [start for start in starts if start.node in impossible]:
        effects = [effect for effect in effects if effect not in refused]
        for start in refused:
            ended = JobEnded(start.node, "failure", note=impossible[start.node], cause="configuration")
            effects += reducer.apply(ended)
        starts = [effect for effect in effects if isinstance(effect, StartJob)]
    state = reducer.state()
    places = {node_id: place for place, node_id in enumerate(state.nodes)}
    return Move(
        state=state,
        nodes=tuple((places[node.id], node) for node in reducer.changed()),
        starts=tuple(starts),
        cancels=tuple(effect for effect in effects if isinstance(effect, CancelJob)),
        groups=tuple(effect for effect in effects if isinstance(effect, JoinGroup | LeaveGroup)),
        changed=seen.row.state is None or bool(effects) or state != seen.row.state,
    )


def _opened(plan: Plan, seen: Seen) -> tuple[Reducer, list[Effect]]:
    if seen.row.state is not None:
        return Reducer(plan, seen.row.state), []
    if seen.before is not None:
        again = rerun(plan, seen.before, which_of(seen.row.rerun))
        if not isinstance(again, Refused):
            state, effects = again
            reducer = Reducer(plan, state)
            reducer.book.changed.update(state.nodes)
            return reducer, list(effects)
    reducer = Reducer(plan, RunState(attempt=plan.attempt, phase=RunPhase.HELD))
    return reducer, list(reducer.open())


def which_of(text: str) -> Which:
    """Return what is to run again, of how it is stored: ``all``, ``failed``, or ``from`` and a node."""
    if text.startswith("from "):
        return From(text.removeprefix("from "))
    return "failed" if text == "failed" else "all"


def _happenings(seen: Seen, reducer: Reducer) -> Iterable[Happening]:
    row = seen.row
    for ended in seen.ended:
        yield _job_ended(ended)
    if row.approved_by is not None:
        yield Approved()
    if row.state is not None:
        present = {membership.node for membership in seen.memberships}
        yield from (GroupDenied(holder) for holder in _waiting(row.state) if holder not in present)
    for membership in seen.memberships:
        if membership.held:
            yield GroupGranted(membership.node)
        if membership.unwanted:
            yield HolderCancelled(membership.node)
    if row.cancel_reason is not None:
        yield CancelAsked(row.cancel_reason)


def _job_ended(ended: EndedJob) -> JobEnded:
    failure = ended.failure
    note = "" if failure is None else failure.detail or failure.evidence
    cause = "" if failure is None else failure.cause.value
    return JobEnded(ended.node, _RESULTS.get(ended.state, "failure"), ended.outputs, note, cause)


def _waiting(state: RunState) -> Sequence[str]:
    """Return who waits for a concurrency group, as the state has it."""
    waiting = [node for node in state.nodes.values() if node.state is NodeState.PENDING]
    holders = [f"{node.id}/" if node.inner_group else node.id for node in waiting if node.group or node.inner_group]
    return ["", *holders] if state.phase is RunPhase.PENDING and state.group else holders
