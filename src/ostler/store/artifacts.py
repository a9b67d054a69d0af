"""Artifacts: what the jobs of a run leave for each other and for people.

A name belongs to one artifact of a run. The attempts of a workflow run are runs of their own, but see each other's
artifacts: of one name the newest counts.
"""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

from typing import Final

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.domain.storage import StorageRules, UploadState
from ostler.protocol.v1.artifact_messages import ArtifactView, CreateArtifactRequest
from ostler.store import job_scopes, uploads
from ostler.store.job_scopes import JobScope
from ostler.store.sql import Fields, Sql
from ostler.store.submissions import DEFAULT_ORGANIZATION
from ostler.store.uploads import Limits, UploadTable, over

FORBIDDEN: Final = frozenset('":<>|*?\r\n\\/')

UPLOADS: Final = UploadTable("artifacts", counted="state <> 'gone'")

_COLUMNS = "id, number, name, size, sha256, mime_type, run_id, job_id, created_at, expires_at"
_NAMED = Sql(
    "SELECT id, state, size, job_id, fence FROM artifacts WHERE run_id = :run_id AND name = :name AND state <> 'gone'"
)
_COUNT = Sql("SELECT count(*) FROM artifacts WHERE first_run_id = :first_run_id AND state <> 'gone'")
_CREATE = Sql(
    "INSERT INTO artifacts (id, number, organization_id, target_id, run_id, first_run_id, job_id, fence, name,"
    " mime_type, state, size, sha256, blob_key, created_at, expires_at) VALUES (:id, :number, :organization,"
    " :target_id, :run_id, :first_run_id, :job_id, :fence, :name, :mime_type, 'uploading', 0, '', '', :now,"
    " :expires_at) ON CONFLICT DO NOTHING"
)
_GET = Sql(
    f"SELECT {_COLUMNS}, first_run_id, blob_key FROM artifacts WHERE id = :id AND state = 'ready' AND expires_at > :now"
)
_LIST = Sql(
    f"SELECT {_COLUMNS} FROM artifacts a WHERE first_run_id = :first_run_id AND state = 'ready' AND expires_at > :now"
    " AND (:name = '' OR name = :name) AND number = (SELECT max(b.number) FROM artifacts b"
    " WHERE b.first_run_id = a.first_run_id AND b.name = a.name AND b.state = 'ready') ORDER BY name"
)
_RUN = Sql("SELECT r.id, w.first_run_id FROM runs r LEFT JOIN workflow_runs w ON w.run_id = r.id WHERE r.id = :run_id")
_EXPIRE = Sql(
    "UPDATE artifacts SET state = 'gone' WHERE id [picked]SELECT id FROM artifacts"
    " WHERE expires_at <= :now AND state <> 'gone' ORDER BY expires_at LIMIT :most[/picked]"
)
_ORPHANS = Sql(
    "UPDATE artifacts SET state = 'gone' WHERE id [picked]SELECT a.id FROM artifacts a WHERE a.target_id <> ''"
    " AND a.state <> 'gone' AND NOT EXISTS (SELECT 1 FROM targets t WHERE t.id = a.target_id)"
    " ORDER BY a.id LIMIT :most[/picked]"
)


class Artifact(msgspec.Struct, frozen=True):
    """An artifact that can be read, and where its bytes are."""

    view: ArtifactView
    first_run_id: str
    blob_key: str


def limits(rules: StorageRules) -> Limits:
    """Return what applies to each artifact and to those of a repository."""
    return Limits(rules.artifact_bytes, rules.artifacts_bytes)


def create(
    connection: Connection,
    job: JobScope,
    artifact_id: str,
    request: CreateArtifactRequest,
    rules: StorageRules,
    now: int,
) -> str | Refused:
    """Begin an artifact and return its id; the same one again for the attempt that began it."""
    if job_scopes.locked(connection, job.job_id, job.fence) is None:
        return over()
    if fault := fault_in_name(request.name):
        return Refused("value_refused", f"name: {fault}")
    known = _NAMED.row(connection, run_id=job.run_id, name=request.name)
    freed = 0
    if known is not None:
        known_id, state, freed, *holder = known
        uploading = state == UploadState.UPLOADING.value
        if uploading and holder == [job.job_id, job.fence]:
            return str(known_id)
        dead = uploading and job_scopes.find(connection, *holder) is None
        if not dead and not request.overwrite:
            return Refused("artifact_exists", f"the run has an artifact {request.name!r}")
    if full := _full(connection, job, rules, int(known is not None), freed):
        return full
    if known is not None:
        UPLOADS.end(connection, known[0])
    created = _CREATE.run(
        connection,
        id=artifact_id,
        number=uploads.next_number(connection, UPLOADS.name),
        organization=DEFAULT_ORGANIZATION,
        target_id=job.target_id,
        run_id=job.run_id,
        first_run_id=job.first_run_id,
        job_id=job.job_id,
        fence=job.fence,
        name=request.name,
        mime_type=request.mime_type,
        now=now,
        expires_at=rules.artifact_expiry(request.retention_days, now),
    )
    return artifact_id if created else Refused("artifact_exists", f"the run has an artifact {request.name!r}")


def _full(connection: Connection, job: JobScope, rules: StorageRules, replaced: int, freed: int) -> Refused | None:
    """Return why there is no room for one more, in place of one that is replaced."""
    count = _COUNT.row(connection, first_run_id=job.first_run_id)
    if count is not None and count[0] - replaced >= rules.artifacts_of_a_run:
        return Refused("quota_exceeded", f"a run has at most {rules.artifacts_of_a_run} artifacts")
    if UPLOADS.used(connection, job.target_id) - freed >= rules.artifacts_bytes:
        return Refused("quota_exceeded", f"the repository keeps {rules.artifacts_bytes} bytes of artifacts already")
    return None


def find(connection: Connection, artifact_id: str, now: int, *, first_run_id: str = "") -> Artifact | Refused:
    """Return an artifact that can be read; for a job only one of its run."""
    row = _GET.row(connection, id=artifact_id, now=now)
    if row is None or (first_run_id and row[10] != first_run_id):
        return Refused("not_found", f"there is no artifact {artifact_id!r}")
    return Artifact(_view(row), row[10], row[11])


def list_of_run(connection: Connection, first_run_id: str, name: str, now: int) -> list[ArtifactView]:
    """Return the newest artifact of each name."""
    return [_view(row) for row in _LIST.rows(connection, first_run_id=first_run_id, name=name, now=now)]


def list_for_people(connection: Connection, run_id: str, name: str, now: int) -> list[ArtifactView] | Refused:
    """Return the artifacts that the jobs of a run see; they may outlive their run."""
    row = _RUN.row(connection, run_id=run_id)
    found = list_of_run(connection, run_id if row is None else row[1] or row[0], name, now)
    if row is None and not found:
        return Refused("not_found", f"there is no run {run_id!r}")
    return found


def delete(connection: Connection, artifact_id: str, now: int, *, job: JobScope | None = None) -> Refused | None:
    """Take an artifact away from its readers; a job may do so with those of its run."""
    if job is not None and job_scopes.locked(connection, job.job_id, job.fence) is None:
        return over()
    found = find(connection, artifact_id, now, first_run_id=job.first_run_id if job else "")
    if isinstance(found, Refused):
        return found
    UPLOADS.end(connection, artifact_id)
    return None


def expire(connection: Connection, now: int, limit: int) -> int:
    """Take away what has been kept long enough, and what belongs to no repository any more; return how many."""
    return _EXPIRE.run(connection, now=now, most=limit) + _ORPHANS.run(connection, most=limit)


def fault_in_name(name: str) -> str:
    """Return why an artifact cannot have this name; nothing if it can."""
    wrong = sorted({character for character in name if character in FORBIDDEN or character < " "})
    return f"it holds {', '.join(map(repr, wrong))}, which some systems cannot keep in a file's name" if wrong else ""


def _view(row: Fields) -> ArtifactView:
    artifact_id, number, name, size, sha256, mime_type, run_id, job_id, created_at, expires_at = row[:10]
    return ArtifactView(
        id=artifact_id,
        number=number,
        name=name,
        size=size,
        digest=f"sha256:{sha256}",
        mime_type=mime_type,
        run_id=run_id,
        job_id=job_id,
        created_at=created_at,
        expires_at=expires_at,
    )
