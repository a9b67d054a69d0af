"""The next attempt of a run: the same plan, with what is kept of the attempt before."""

from typing import Final

from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.protocol.v1.workflow_messages import RerunRequest
from ostler.server.workflows.moves import which_of
from ostler.store import targets, workflow_runs
from ostler.store.workflow_runs import NewRun
from ostler.workflow.run.plan import next_attempt
from ostler.workflow.run.reruns import rerun
from ostler.workflow.run.state import RunState

MOST_ATTEMPTS: Final = 100


def again(connection: Connection, run_id: str, drawn: str, request: RerunRequest, name: str, now: int) -> str | Refused:
    """Store the next attempt of a run that has ended, under an id that was drawn for it; return that id."""
    row = workflow_runs.get(connection, run_id)
    if row is None:
        return Refused("not_found", f"there is no workflow run {run_id!r}")
    latest = workflow_runs.attempts(connection, row.first_run_id)[-1]
    if latest.run_id != run_id:
        return Refused("transition_refused", f"run {run_id} was run again already, as {latest.run_id}")
    if row.ended_at is None or row.state is None:
        return Refused("transition_refused", f"run {run_id} has not ended")
    if row.attempt >= MOST_ATTEMPTS:
        return Refused("transition_refused", f"run {run_id} is its attempt {row.attempt}; there are no more")
    which = _which(row.state, request)
    if isinstance(which, Refused):
        return which
    plan = next_attempt(workflow_runs.plan(connection, run_id), triggering_actor=name, debug=request.debug)
    possible = rerun(plan, row.state, which_of(which))
    if isinstance(possible, Refused):
        return Refused("transition_refused", possible.reason)
    repository = targets.get(connection, row.target_id)
    new = NewRun(
        run_id=drawn,
        target_id=row.target_id,
        workflow_id=row.workflow_id,
        trigger_id=row.trigger_id,
        number=row.number,
        event=row.event,
        ref=row.ref,
        sha=row.sha,
        actor=row.actor,
        trusted=row.trusted,
        pool="" if isinstance(repository, Refused) else repository.view.pool,
        plan=plan,
        attempt=row.attempt + 1,
        first_run_id=row.first_run_id,
        rerun=which,
    )
    workflow_runs.insert(connection, new, now)
    return drawn


def _which(state: RunState, request: RerunRequest) -> str | Refused:
    if request.which != "job":
        return request.which
    fitting = [node.id for node in state.nodes.values() if request.job in (node.id, node.name)]
    if not fitting:
        names = ", ".join(list(state.nodes)[:20])
        return Refused("value_refused", f"job: the run has no job {request.job!r}; it has {names}")
    return f"from {fitting[0]}"
