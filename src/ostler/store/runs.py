"""Runs as people see them, and cancelling them. How they come to be is in `submissions`."""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

from collections.abc import Sequence
from functools import cache
from typing import Final

from sqlalchemy import Connection

from ostler.domain.job import JobEvent, JobState
from ostler.domain.machine import Refused
from ostler.domain.run import RunState
from ostler.protocol.v1.run_messages import JobView, RunsQuery, RunsReply, RunSummary, RunView
from ostler.store import jobs, workflow_runs
from ostler.store.database import hint
from ostler.store.sql import Fields, Sql
from ostler.store.transitions import ALONE, ENDED_JOB, Change, decide, failure_from, load_run, write

_GET = Sql(
    "SELECT r.id, r.name, r.state, r.created_at, r.submitted_by, r.started_at, r.finished_at, w.run_id IS NOT NULL"
    " FROM runs r LEFT JOIN workflow_runs w ON w.run_id = r.id WHERE r.id [among ids]"
)
_JOBS_OF_PAGE = Sql(
    "SELECT j.run_id, j.failure, coalesce(a.runner_name, ''), j.state, j.started_at, j.siblings FROM jobs j"
    " LEFT JOIN attempts a ON a.job_id = j.id AND a.fence = j.fence AND j.state <> 'queued'"
    " WHERE j.run_id [among ids] ORDER BY j.id"
)
_LONE = "SELECT j.run_id FROM attempts a JOIN jobs j ON j.id = a.job_id WHERE a.held = 1 AND j.siblings = 1 AND j.state"
_ACTIVE = f"r.id IN (SELECT id FROM runs WHERE state = :state UNION ALL {_LONE} = :state)"
_CONDITIONS: Final = {
    "": "true",
    "queued": f"r.state = :state AND r.id NOT IN ({_LONE} IN ('running', 'cancelling'))",
    "running": _ACTIVE,
    "cancelling": _ACTIVE,
}
"""How runs of a state are found, given that a run of one job is stored as queued until it ends."""

_ENDED_STATES: Final = ("succeeded", "failed", "cancelled")
_OLDEST = Sql(
    "SELECT id FROM (SELECT id, finished_at FROM runs WHERE state = :state ORDER BY id LIMIT :most) AS oldest"
    " WHERE finished_at < :before"
)
_WITH_LOGS = Sql(
    "SELECT DISTINCT j.run_id FROM jobs j JOIN log_segments s ON s.job_id = j.id WHERE j.run_id [among ids]"
)
_JOBS_OF_RUNS = Sql("SELECT id FROM jobs WHERE run_id [among ids]")
_FORGET_JOBS = (
    Sql(
        "DELETE FROM outbox WHERE id IN (SELECT 'seal_log/' || job_id || '/' || fence FROM attempts"
        " WHERE job_id [among ids])"
    ),
    Sql("DELETE FROM log_chunks WHERE job_id [among ids]"),
    Sql("DELETE FROM steps WHERE job_id [among ids]"),
    Sql("DELETE FROM annotations WHERE job_id [among ids]"),
    Sql("DELETE FROM summaries WHERE job_id [among ids]"),
    Sql("DELETE FROM job_outputs WHERE job_id [among ids]"),
    Sql("DELETE FROM attempts WHERE job_id [among ids]"),
    Sql("DELETE FROM job_specs WHERE job_id [among ids]"),
    Sql("DELETE FROM jobs WHERE id [among ids]"),
)
_FORGET_RUNS = tuple(
    Sql(f"DELETE FROM {table} WHERE {key} [among ids]")
    for table, key in (
        ("workflow_nodes", "run_id"),
        ("workflow_wakes", "run_id"),
        ("concurrency_groups", "run_id"),
        ("workflow_runs", "run_id"),
        ("runs", "id"),
    )
)


def get(connection: Connection, run_id: str) -> RunView | Refused:
    """Return a run with its jobs."""
    return get_many(connection, (run_id,))[0]


def get_many(connection: Connection, run_ids: Sequence[str]) -> list[RunView | Refused]:
    """Return each of these runs with its jobs."""
    rows = {row[0]: row for row in _GET.rows(connection, ids=run_ids)}
    of_runs = jobs.of_runs(connection, list(rows)) if rows else {}
    return [
        _view(rows[run_id], of_runs.get(run_id, []))
        if run_id in rows
        else Refused("not_found", f"there is no run {run_id!r}")
        for run_id in run_ids
    ]


def _view(row: Fields, its_jobs: list[JobView]) -> RunView:
    run_id, name, state, created_at, submitted_by, started_at, finished_at, of_workflow = row
    if state == RunState.QUEUED.value and len(its_jobs) == 1 and not of_workflow:
        state, started_at = ALONE[its_jobs[0].state], its_jobs[0].started_at
    return RunView(
        id=run_id,
        name=name,
        state=RunState(state),
        created_at=created_at,
        jobs=its_jobs,
        submitted_by=submitted_by,
        started_at=started_at,
        finished_at=finished_at,
        of_workflow=bool(of_workflow),
    )


def list_page(connection: Connection, query: RunsQuery) -> RunsReply:
    """Return a page of runs, newest first."""
    sql = _page(
        condition=_CONDITIONS.get(query.state, "r.state = :state"),
        pool=bool(query.pool),
        search=bool(query.search),
        cursor=bool(query.cursor),
    )
    rows = sql.rows(
        connection,
        state=query.state,
        pool=query.pool,
        search=_pattern(query.search),
        cursor=query.cursor,
        most=query.limit + 1,
    )
    page = rows[: query.limit]
    known: dict[str, tuple[str | None, str]] = {}
    alone: dict[str, tuple[RunState, int | None]] = {}
    for run_id, failure, runner_name, state, started_at, siblings in _JOBS_OF_PAGE.rows(
        connection, ids=[row[0] for row in page]
    ):
        before = known.get(run_id, (None, ""))
        known[run_id] = (before[0] or failure, before[1] or runner_name)
        if siblings == 1:
            alone[run_id] = ALONE[JobState(state)], started_at
    runs = [
        RunSummary(
            id=row[0],
            name=row[1],
            state=alone[row[0]][0] if row[0] in alone else RunState(row[2]),
            created_at=row[3],
            pool_name=row[4],
            submitted_by=row[5],
            started_at=alone[row[0]][1] if row[0] in alone else row[6],
            finished_at=row[7],
            runner_name=known.get(row[0], (None, ""))[1],
            failure=failure_from(known.get(row[0], (None, ""))[0]),
        )
        for row in page
    ]
    return RunsReply(runs, next_cursor=runs[-1].id if len(rows) > query.limit else "")


def cancel(connection: Connection, run_id: str, reason: str, now: int) -> RunView | Refused:
    """Cancel every job of a run that has not ended; a second time changes nothing (rule 10)."""
    if not _GET.rows(connection, ids=(run_id,)):
        return Refused("not_found", f"there is no run {run_id!r}")
    if workflow_runs.cancel(connection, run_id, reason, now):
        return get(connection, run_id)
    changes: list[Change] = []
    for loaded in load_run(connection, run_id):
        if loaded.job.state in ENDED_JOB:
            continue
        change = decide(loaded, JobEvent.CANCEL, now, reason=reason)
        if isinstance(change, Change) and change.job.state is not loaded.job.state:
            changes.append(change)
    write(connection, changes, now)
    if changes:
        hint(connection, "runs")
    return get(connection, run_id)


def forget_ended(connection: Connection, before: int, limit: int = 500) -> int:
    """Delete runs that ended before a time and whose logs are in no blob any more; return how many.

    Only the oldest runs are looked at: ids follow time, so what ended long ago is among them.
    """
    oldest = [
        str(row[0])
        for state in _ENDED_STATES
        for row in _OLDEST.rows(connection, state=state, most=limit, before=before)
    ]
    kept = {row[0] for row in _WITH_LOGS.rows(connection, ids=oldest)} if oldest else set[str]()
    forgotten = [run_id for run_id in oldest if run_id not in kept][:limit]
    if forgotten:
        job_ids = [str(row[0]) for row in _JOBS_OF_RUNS.rows(connection, ids=forgotten)]
        for statement in _FORGET_JOBS:
            statement.run(connection, ids=job_ids)
        for statement in _FORGET_RUNS:
            statement.run(connection, ids=forgotten)
        hint(connection, "runs")
    return len(forgotten)


@cache
def _page(*, condition: str, pool: bool, search: bool, cursor: bool) -> Sql:
    conditions = [condition]
    conditions += ["r.pool_id IN (SELECT id FROM pools WHERE id = :pool OR name = :pool)"] if pool else []
    conditions += ["lower(r.name) LIKE :search ESCAPE '!'"] if search else []
    conditions += ["r.id < :cursor"] if cursor else []
    return Sql(
        "SELECT r.id, r.name, r.state, r.created_at, coalesce(p.name, ''), r.submitted_by, r.started_at, r.finished_at"
        f" FROM runs r LEFT JOIN pools p ON p.id = r.pool_id WHERE {' AND '.join(conditions)}"
        " ORDER BY r.id DESC LIMIT :most"
    )


def _pattern(search: str) -> str:
    escaped = search.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"
