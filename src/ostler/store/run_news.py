"""Whom the course of a run concerns: the forge, which shows a status, and workflows that follow other workflows."""

from typing import Final

from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.protocol.v1.program import Raw
from ostler.store import forge_statuses, targets, triggers, workflows
from ostler.store.forge_statuses import State, Status
from ostler.store.triggers import Occurrence, Trigger
from ostler.store.workflow_runs import Row
from ostler.store.workflows import Workflow
from ostler.workflow.run.state import RunPhase, RunState

DEEPEST: Final = 3
"""So many runs may follow each other, each by the end of the one before."""
_STATES: Final[dict[str, State]] = {"success": "success", "skipped": "success", "failure": "failure"}
_WORDS: Final = {
    "success": "Successful",
    "skipped": "Skipped",
    "failure": "Failed",
    "cancelled": "Cancelled",
}


def tell(connection: Connection, row: Row, state: RunState, now: int) -> None:
    """Write down whom to tell that a run has begun, or has ended."""
    begun = row.state is None
    ended = state.phase is RunPhase.ENDED
    if not begun and not ended:
        return
    workflow = workflows.by_id(connection, row.workflow_id)
    if workflow is None:
        return
    _tell_forge(connection, row, state, workflow, now)
    following = [each for each in workflows.of_target(connection, row.target_id) if each.trigger("workflow_run")]
    if following and row.trusted:
        _tell_followers(connection, row, state, workflow, "completed" if ended else "requested", now)


def _tell_forge(connection: Connection, row: Row, state: RunState, workflow: Workflow, now: int) -> None:
    repository = targets.get(connection, row.target_id)
    if isinstance(repository, Refused) or not repository.view.has_forge_token:
        return
    if state.phase is RunPhase.ENDED:
        word = _WORDS.get(state.conclusion, "Ended")
        said, shown = f"{word} in attempt {row.attempt}", _STATES.get(state.conclusion, "error")
    elif state.phase is RunPhase.HELD:
        said, shown = "Waits for approval", "pending"
    else:
        said, shown = "In progress", "pending"
    status = Status(
        target_id=row.target_id,
        sha=row.sha,
        context=f"{workflow.name} ({row.event})"[:200],
        run_id=row.run_id,
        state=shown,
        description=said,
    )
    forge_statuses.put(connection, status, now)


def _tell_followers(
    connection: Connection, row: Row, state: RunState, workflow: Workflow, type_: str, now: int
) -> None:
    before = triggers.get(connection, row.trigger_id)
    depth = (before.occurrence.depth if before is not None else 0) + 1
    if depth > DEEPEST:
        return
    branch = row.ref.removeprefix("refs/heads/")
    told: dict[str, Raw] = {
        "id": row.run_id,
        "name": workflow.name,
        "path": workflow.path,
        "run_number": row.number,
        "run_attempt": row.attempt,
        "event": row.event,
        "status": "completed" if type_ == "completed" else "queued",
        "conclusion": state.conclusion or None,
        "head_branch": branch,
        "head_sha": row.sha,
        "actor": {"login": row.actor},
    }
    occurrence = Occurrence(
        event="workflow_run",
        type=type_,
        ref=row.ref,
        workflow=workflow.name,
        depth=depth,
        payload={"action": type_, "workflow_run": told, "workflow": {"name": workflow.name, "path": workflow.path}},
    )
    trigger = Trigger(
        id=f"trg_{row.run_id.removeprefix('run_')}_{type_}",
        target_id=row.target_id,
        source="run",
        actor=row.actor,
        occurrence=occurrence,
    )
    triggers.add(connection, (trigger,), now)
