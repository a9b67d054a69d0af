"""Lists of workflow runs, for those who look at a workflow: its last run, and all of them page by page.

Of a run with several attempts the last one stands for all.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from sqlalchemy import Connection

from ostler.domain.run import RunState
from ostler.store.sql import Fields, Sql

PAGE: Final = 30

_COLUMNS = (
    "w.run_id, w.workflow_id, w.number, w.attempt, w.event, w.ref, w.actor, w.phase, w.note,"
    " r.name, r.state, r.created_at, r.started_at, r.finished_at"
)
_LATEST = Sql(
    f"SELECT {_COLUMNS} FROM workflow_runs w JOIN runs r ON r.id = w.run_id WHERE w.run_id IN"  # noqa: S608 - constants
    " (SELECT max(run_id) FROM workflow_runs WHERE workflow_id [among ids] GROUP BY workflow_id)"
)
_PAGE = Sql(
    f"SELECT {_COLUMNS} FROM workflow_runs w JOIN runs r ON r.id = w.run_id WHERE w.workflow_id = :workflow_id"  # noqa: S608 - constants
    " AND w.run_id < :before AND NOT EXISTS (SELECT 1 FROM workflow_runs l WHERE l.first_run_id = w.first_run_id"
    " AND l.attempt > w.attempt) ORDER BY w.run_id DESC LIMIT :most"
)
_AFTER_ALL = "~"
"""Greater than every id."""


class ListedRun(msgspec.Struct, frozen=True):
    """A run of a workflow as a row of a list."""

    run_id: str
    workflow_id: str
    number: int
    attempt: int
    event: str
    ref: str
    actor: str
    phase: str
    note: str
    name: str
    state: RunState
    created_at: int
    started_at: int | None
    finished_at: int | None


def latest(connection: Connection, workflow_ids: Sequence[str]) -> dict[str, ListedRun]:
    """Return the last run of each of these workflows that has run."""
    if not workflow_ids:
        return {}
    return {row[1]: _run(row) for row in _LATEST.rows(connection, ids=list(workflow_ids))}


def page(connection: Connection, workflow_id: str, before: str = "", *, limit: int = PAGE) -> list[ListedRun]:
    """Return runs of a workflow, newest first, one more than the limit if there are more."""
    rows = _PAGE.rows(connection, workflow_id=workflow_id, before=before or _AFTER_ALL, most=limit + 1)
    return [_run(row) for row in rows]


def _run(row: Fields) -> ListedRun:
    return msgspec.convert(dict(zip(ListedRun.__struct_fields__, row, strict=True)), ListedRun)
