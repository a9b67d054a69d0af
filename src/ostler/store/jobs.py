"""Jobs as people see them: with their steps, their attempts, and why they wait."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection

from ostler.domain.job import JobKind, JobState
from ostler.domain.machine import Refused
from ostler.protocol.v1.run_messages import AttemptView, JobView, WaitReason
from ostler.protocol.v1.spec import JobSpec
from ostler.store import events, queue
from ostler.store.sql import Fields, Sql
from ostler.store.transitions import failure_from

_COLUMNS = """j.id, j.run_id, j.name, j.kind, j.state, j.pool_id, coalesce(p.name, ''), coalesce(d.labels, '[]'),
    j.fence, j.created_at, j.priority, j.pool_level, coalesce(d.runner_name, ''), j.started_at, j.finished_at,
    j.timeout_ms, j.failure, j.exit_code, s.spec"""
_FROM = """FROM jobs j LEFT JOIN pools p ON p.id = j.pool_id LEFT JOIN demand_classes d ON d.id = j.demand_id
    LEFT JOIN job_specs s ON s.job_id = j.id"""
_ONE = Sql(f"SELECT {_COLUMNS} {_FROM} WHERE j.id = :job_id")
_OF_RUNS = Sql(f"SELECT {_COLUMNS} {_FROM} WHERE j.run_id [among ids] ORDER BY j.id")
_ATTEMPTS = Sql(
    "SELECT job_id, fence, state, runner_id, runner_name, claimed_at, started_at, finished_at, log_bytes, log_lines"
    " FROM attempts WHERE job_id [among ids] ORDER BY job_id, fence"
)
_NAMES = Sql("SELECT id, run_id, name FROM jobs WHERE id [among ids]")
_STATE = Sql("SELECT state FROM jobs WHERE id = :job_id")


class Named(NamedTuple):
    """A job as a link to it shows it."""

    job_id: str
    run_id: str
    name: str


_spec = msgspec.json.Decoder(JobSpec).decode
_labels = msgspec.json.Decoder(list[str]).decode


def get(connection: Connection, job_id: str) -> JobView | Refused:
    """Return a job."""
    row = _ONE.row(connection, job_id=job_id)
    return Refused("not_found", f"there is no job {job_id!r}") if row is None else _views(connection, (row,))[0]


def of_runs(connection: Connection, run_ids: Sequence[str]) -> dict[str, list[JobView]]:
    """Return the jobs of each of these runs in the order in which they were made."""
    found: dict[str, list[JobView]] = {}
    for view in _views(connection, _OF_RUNS.rows(connection, ids=run_ids)):
        found.setdefault(view.run_id, []).append(view)
    return found


def _views(connection: Connection, rows: Sequence[Fields]) -> list[JobView]:
    attempts: dict[str, list[AttemptView]] = {}
    if tried := [row[0] for row in rows if row[8]]:
        for row in _ATTEMPTS.rows(connection, ids=tried):
            attempts.setdefault(row[0], []).append(AttemptView(*row[1:]))
    waits = [row[0] for row in rows if row[4] == JobState.QUEUED.value]
    reasons = queue.explain_many(connection, waits) if waits else {}
    return [_view(connection, row, attempts.get(row[0], []), reasons.get(row[0])) for row in rows]


def _view(connection: Connection, row: Fields, attempts: list[AttemptView], waiting: WaitReason | None) -> JobView:
    job_id, run_id, name, kind, state, pool_id, pool_name, labels, fence, created_at = row[:10]
    priority, pool_level, pinned, started_at, finished_at, timeout_ms, failure, exit_code, spec = row[10:]
    latest = attempts[-1] if attempts else None
    told = _spec(spec) if spec else None
    waits = state == JobState.QUEUED.value
    return JobView(
        id=job_id,
        run_id=run_id,
        name=name,
        kind=JobKind(kind),
        state=JobState(state),
        pool_id=pool_id,
        pool_name=pool_name,
        labels=_labels(labels),
        fence=fence,
        created_at=created_at,
        priority=priority,
        pool_level=pool_level,
        runner_name=pinned if waits or latest is None else latest.runner_name,
        started_at=started_at,
        finished_at=finished_at,
        timeout_ms=timeout_ms,
        failure=failure_from(failure),
        exit_code=exit_code,
        log_bytes=latest.log_bytes if latest else 0,
        log_lines=latest.log_lines if latest else 0,
        steps=events.steps(connection, job_id, fence) if fence else [],
        attempts=attempts,
        waiting=waiting,
        env=told.env if told else {},
        secret_names=sorted(told.secrets) if told else [],
    )


def names(connection: Connection, job_ids: Sequence[str]) -> dict[str, Named]:
    """Return what jobs are called, by their id."""
    return {row[0]: Named(*row) for row in _NAMES.rows(connection, ids=job_ids)} if job_ids else {}


def state(connection: Connection, job_id: str) -> JobState | None:
    """Return where a job stands; nothing for one that is not known."""
    row = _STATE.row(connection, job_id=job_id)
    return JobState(row[0]) if row else None
