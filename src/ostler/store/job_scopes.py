"""What a running attempt stands for, to those who keep things for jobs: its run, its repository, and its trust.

An attempt has a scope from its start grant until it ends, is lost, or its runner is revoked; after that there is
nothing here, whoever asks. Writers look again inside their own transaction, with the attempt locked.
"""

import msgspec
from sqlalchemy import Connection

from ostler.store.sql import Fields, Sql

_FROM = (
    "SELECT j.run_id, w.first_run_id, w.target_id, w.ref, w.trusted, t.default_branch FROM attempts a"
    " JOIN jobs j ON j.id = a.job_id AND j.fence = a.fence JOIN runners r ON r.id = a.runner_id"
    " LEFT JOIN workflow_runs w ON w.run_id = j.run_id LEFT JOIN targets t ON t.id = w.target_id"
    " WHERE a.job_id = :job_id AND a.fence = :fence AND a.held = 1 AND a.state = 'started'"
    " AND r.admission <> 'revoked'"
)
_SCOPE = Sql(_FROM)
_LOCK = Sql("SELECT 1 FROM attempts WHERE job_id = :job_id AND fence = :fence [lock]")


class JobScope(msgspec.Struct, frozen=True, kw_only=True):
    """See the module. A job that is no workflow's has no repository."""

    job_id: str
    fence: int
    run_id: str
    first_run_id: str
    """What all attempts of one workflow run have in common."""
    target_id: str = ""
    ref: str = ""
    default_branch: str = ""
    trusted: bool = True


def find(connection: Connection, job_id: str, fence: int) -> JobScope | None:
    """Return the scope of an attempt that is under way."""
    row = _SCOPE.row(connection, job_id=job_id, fence=fence)
    return None if row is None else _scope(job_id, fence, row)


def locked(connection: Connection, job_id: str, fence: int) -> JobScope | None:
    """Return the scope, and keep the attempt from ending before this transaction does."""
    _LOCK.rows(connection, job_id=job_id, fence=fence)
    return find(connection, job_id, fence)


def _scope(job_id: str, fence: int, row: Fields) -> JobScope:
    run_id, first_run_id, target_id, ref, trusted, default_branch = row
    return JobScope(
        job_id=job_id,
        fence=fence,
        run_id=run_id,
        first_run_id=first_run_id or run_id,
        target_id=target_id or "",
        ref=ref or "",
        default_branch=default_branch or "",
        trusted=trusted is None or bool(trusted),
    )
