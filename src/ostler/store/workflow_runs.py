"""Runs of workflows: their plan, which never changes, and their state, which moves from version to version.

Whoever moves a run has read a version of it and writes the next one; of two that read the same version one finds that
it is gone and looks again. So it does not matter how many replicas look at a run at once, or where one of them dies.
"""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.protocol.v1.workflow_messages import AttemptOfRun, WorkflowRunView
from ostler.store import pools, workflow_nodes, workflow_wakes
from ostler.store.database import hint
from ostler.store.sql import Fields, Sql
from ostler.workflow.run.plan import Plan
from ostler.workflow.run.state import RunPhase, RunState

_RUN = Sql(
    "INSERT INTO runs (id, organization_id, pool_id, name, state, submitted_by, created_at)"
    " VALUES (:id, :organization, :pool_id, :name, 'queued', :actor, :now)"
)
_INSERT = Sql(
    "INSERT INTO workflow_runs (run_id, target_id, workflow_id, trigger_id, number, attempt, first_run_id, event, ref,"
    " sha, actor, trusted, phase, conclusion, note, rerun, plan, state, version, created_at) VALUES (:run_id,"
    " :target_id, :workflow_id, :trigger_id, :number, :attempt, :first_run_id, :event, :ref, :sha, :actor, :trusted,"
    " :phase, '', '', :rerun, :plan, '', 0, :now)"
)
_COLUMNS = (
    "run_id, target_id, workflow_id, trigger_id, number, attempt, first_run_id, event, ref, sha, actor, trusted, phase,"
    " conclusion, note, cancel_reason, approved_by, rerun, version, created_at, ended_at"
)
_GET = Sql(f"SELECT {_COLUMNS}, state FROM workflow_runs WHERE run_id = :run_id")
_ATTEMPT = Sql(f"SELECT {_COLUMNS}, state FROM workflow_runs WHERE first_run_id = :first AND attempt = :attempt")
_PLAN = Sql("SELECT plan FROM workflow_runs WHERE run_id = :run_id")
_SAVE = Sql(
    "UPDATE workflow_runs SET state = :state, version = version + 1, phase = :phase, conclusion = :conclusion,"
    " note = :note, ended_at = CAST(:ended_at AS BIGINT) WHERE run_id = :run_id AND version = :version"
)
_END = Sql(
    "UPDATE runs SET state = :state, finished_at = :now, started_at = coalesce(started_at, CAST(:now AS BIGINT))"
    " WHERE id = :run_id"
)
_CANCEL = Sql(
    "UPDATE workflow_runs SET cancel_reason = coalesce(cancel_reason, :reason)"
    " WHERE run_id = :run_id AND ended_at IS NULL"
)
_CANCELLING = Sql("UPDATE runs SET state = 'cancelling' WHERE id = :run_id AND finished_at IS NULL")
_APPROVE = Sql(
    "UPDATE workflow_runs SET approved_by = :name WHERE run_id = :run_id AND phase = 'held' AND approved_by IS NULL"
)
_ATTEMPTS = Sql(
    "SELECT attempt, run_id, conclusion FROM workflow_runs WHERE first_run_id = :first_run_id ORDER BY attempt"
)
_NAMES = Sql(
    "SELECT coalesce(t.name, ''), coalesce(w.name, ''), coalesce(w.path, '') FROM workflow_runs r"
    " LEFT JOIN targets t ON t.id = r.target_id LEFT JOIN workflows w ON w.id = r.workflow_id WHERE r.run_id = :run_id"
)

_STATE_OF = {"success": "succeeded", "skipped": "succeeded", "failure": "failed", "cancelled": "cancelled"}
"""How a run of a workflow is shown among all other runs."""

_decode_state = msgspec.json.Decoder(RunState).decode
_decode_plan = msgspec.json.Decoder(Plan).decode


class NewRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run to be stored. Of a first attempt ``first_run_id`` is empty."""

    run_id: str
    target_id: str
    workflow_id: str
    trigger_id: str
    number: int
    event: str
    ref: str
    sha: str
    actor: str
    trusted: bool
    pool: str
    plan: Plan
    attempt: int = 1
    first_run_id: str = ""
    rerun: str = ""
    """What of the attempt before runs again: ``all``, ``failed``, or ``from`` and a node."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a workflow without its plan. Before anybody looked at it there is no state."""

    run_id: str
    target_id: str
    workflow_id: str
    trigger_id: str
    number: int
    attempt: int
    first_run_id: str
    event: str
    ref: str
    sha: str
    actor: str
    trusted: bool
    phase: str
    conclusion: str
    note: str
    cancel_reason: str | None
    approved_by: str | None
    rerun: str
    version: int
    created_at: int
    ended_at: int | None
    state: RunState | None


def insert(connection: Connection, new: NewRun, now: int) -> None:
    """Store a run that somebody will look at soon."""
    pool = pools.resolve(connection, (new.pool,))[new.pool]
    pool_id = pools.HOSTED_ID if isinstance(pool, Refused) else pool.pool_id
    _RUN.run(
        connection,
        id=new.run_id,
        organization=pools.ORGANIZATION,
        pool_id=pool_id,
        name=new.plan.name[:500],
        actor=new.actor,
        now=now,
    )
    _INSERT.run(
        connection,
        run_id=new.run_id,
        target_id=new.target_id,
        workflow_id=new.workflow_id,
        trigger_id=new.trigger_id,
        number=new.number,
        attempt=new.attempt,
        first_run_id=new.first_run_id or new.run_id,
        event=new.event,
        ref=new.ref,
        sha=new.sha,
        actor=new.actor,
        trusted=int(new.trusted),
        phase=RunPhase.PENDING.value if new.plan.given.approved else RunPhase.HELD.value,
        plan=_text(new.plan),
        rerun=new.rerun,
        now=now,
    )
    workflow_wakes.wake(connection, [(new.run_id, "begin")], now)
    hint(connection, "runs")


def get(connection: Connection, run_id: str) -> Row | None:
    """Return a run; nothing if it is no workflow's."""
    row = _GET.row(connection, run_id=run_id)
    return None if row is None else _row(row)


def attempt(connection: Connection, first_run_id: str, number: int) -> Row | None:
    """Return one attempt of a run."""
    row = _ATTEMPT.row(connection, first=first_run_id, attempt=number)
    return None if row is None else _row(row)


def plan(connection: Connection, run_id: str) -> Plan:
    """Return the plan of a run that exists."""
    row = _PLAN.row(connection, run_id=run_id)
    if row is None:
        raise LookupError(f"there is no workflow run {run_id}")
    return _decode_plan(row[0])


def save(connection: Connection, before: Row, state: RunState, now: int) -> bool:
    """Write the next version; ``False``, and nothing written, if somebody else did."""
    ended = state.phase is RunPhase.ENDED
    written = _SAVE.run(
        connection,
        run_id=before.run_id,
        version=before.version,
        state=_text(state),
        phase=state.phase.value,
        conclusion=state.conclusion,
        note=state.note[:2000],
        ended_at=now if ended else None,
    )
    if written and ended:
        _END.run(connection, run_id=before.run_id, state=_STATE_OF.get(state.conclusion, "failed"), now=now)
    if written:
        hint(connection, f"run:{before.run_id}")
        hint(connection, "runs")
    return written == 1


def cancel(connection: Connection, run_id: str, reason: str, now: int) -> bool:
    """Ask for the end of a run; ``False`` if it is no workflow's. Its jobs are cancelled by who looks at it next."""
    if get(connection, run_id) is None:
        return False
    if _CANCEL.run(connection, run_id=run_id, reason=reason):
        _CANCELLING.run(connection, run_id=run_id)
        workflow_wakes.wake(connection, [(run_id, "cancel")], now)
        hint(connection, f"run:{run_id}")
        hint(connection, "runs")
    return True


def approve(connection: Connection, run_id: str, name: str, now: int) -> Refused | None:
    """Let a run begin that waits for somebody's approval; it is bound to the commit that the run has."""
    found = get(connection, run_id)
    if found is None:
        return Refused("not_found", f"there is no workflow run {run_id!r}")
    if not _APPROVE.run(connection, run_id=run_id, name=name):
        return Refused("transition_refused", f"run {run_id} does not wait for an approval")
    workflow_wakes.wake(connection, [(run_id, "approved")], now)
    return None


def attempts(connection: Connection, first_run_id: str) -> list[AttemptOfRun]:
    """Return the attempts of a run, oldest first."""
    return [AttemptOfRun(*row) for row in _ATTEMPTS.rows(connection, first_run_id=first_run_id)]


def view(connection: Connection, run_id: str) -> WorkflowRunView | Refused:
    """Return what a run is as a run of a workflow."""
    found = get(connection, run_id)
    if found is None:
        return Refused("not_found", f"there is no workflow run {run_id!r}")
    names: Sequence[str] = _NAMES.row(connection, run_id=run_id) or ("", "", "")
    return WorkflowRunView(
        run_id=run_id,
        repository=names[0],
        workflow_id=found.workflow_id,
        workflow=names[1],
        path=names[2],
        number=found.number,
        attempt=found.attempt,
        attempts=attempts(connection, found.first_run_id),
        event=found.event,
        ref=found.ref,
        sha=found.sha,
        actor=found.actor,
        trusted=found.trusted,
        phase=found.phase,
        conclusion=found.conclusion,
        note=found.note,
        approved_by=found.approved_by or "",
        nodes=workflow_nodes.list_all(connection, run_id),
        created_at=found.created_at,
        ended_at=found.ended_at,
    )


def _row(row: Fields) -> Row:
    *fields, state = row
    names = Row.__struct_fields__[:-1]
    values = dict(zip(names, fields, strict=True))
    values["trusted"] = bool(values["trusted"])
    return Row(**values, state=_decode_state(state) if state else None)


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
