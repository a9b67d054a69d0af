"""Cache entries of repositories: immutable, found by key and version, and only by runs that may trust them.

An entry lies in the scope of the ref whose run made it, apart for runs that are trusted and those that are not. A run
reads its own scope first, then the trusted ones of the branch that it would be merged into and of the default branch.
So nothing that an untrusted run writes is ever read by a trusted one (threat 17), whatever ref it claims to be of.
"""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

from functools import cache
from typing import Final

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.domain.storage import StorageRules, UploadState
from ostler.protocol.v1.cache_messages import CacheHit, CachesQuery, CachesReply, CacheView, FindCacheRequest
from ostler.store import job_scopes, uploads
from ostler.store.job_scopes import JobScope
from ostler.store.sql import Fields, Sql
from ostler.store.submissions import DEFAULT_ORGANIZATION
from ostler.store.uploads import Limits, UploadTable, over

UPLOADS: Final = UploadTable("caches", counted="state = 'uploading'")
_BRANCH = "refs/heads/"
_UPLOADS_OF_AN_ATTEMPT = 50
_TOUCH_MICROS = 60_000_000
"""The time of an entry's last use is this coarse, so that a busy entry is not written at each look."""

_HIT = "id, key, size, sha256, created_at"
_NAMED = Sql(
    "SELECT id, state, job_id, fence FROM caches WHERE target_id = :target_id AND ref = :ref AND trusted = :trusted"
    " AND version = :version AND key = :key AND state <> 'gone'"
)
_UPLOADING = Sql("SELECT count(*) FROM caches WHERE job_id = :job_id AND fence = :fence AND state = 'uploading'")
_CREATE = Sql(
    "INSERT INTO caches (id, number, organization_id, target_id, ref, trusted, key, version, run_id, job_id, fence,"
    " state, size, sha256, blob_key, created_at, used_at) VALUES (:id, :number, :organization, :target_id, :ref,"
    " :trusted, :key, :version, :run_id, :job_id, :fence, 'uploading', 0, '', '', :now, :now) ON CONFLICT DO NOTHING"
)
_FIND = Sql(
    f"SELECT {_HIT}, used_at FROM caches WHERE target_id = :target_id AND ref = :ref AND trusted = :trusted"
    " AND version = :version AND substr(key, 1, CAST(:length AS INTEGER)) = :key AND state = 'ready'"
    " ORDER BY CASE WHEN key = :key THEN 0 ELSE 1 END, created_at DESC, number DESC LIMIT 1"
)
_TOUCH = Sql("UPDATE caches SET used_at = :now WHERE id = :id AND used_at < :before")
_GET = Sql(f"SELECT {_HIT}, target_id, ref, trusted, blob_key FROM caches WHERE id = :id AND state = 'ready'")
_BASE = Sql("SELECT spec FROM job_specs WHERE job_id = :job_id")
_READY = Sql("UPDATE caches SET created_at = :now, used_at = :now WHERE id = :id")
_UNUSED = Sql(
    "UPDATE caches SET state = 'gone' WHERE id [picked]SELECT id FROM caches WHERE state = 'ready'"
    " AND used_at <= :before AND (:target_id = '' OR target_id = :target_id) ORDER BY used_at LIMIT :most[/picked]"
    " RETURNING size"
)
_ORPHANS = Sql(
    "UPDATE caches SET state = 'gone' WHERE id [picked]SELECT c.id FROM caches c WHERE c.state <> 'gone'"
    " AND NOT EXISTS (SELECT 1 FROM targets t WHERE t.id = c.target_id) ORDER BY c.id LIMIT :most[/picked]"
)
_BY_USE = Sql(
    "SELECT id, size FROM caches WHERE target_id = :target_id AND state = 'ready' ORDER BY used_at DESC, number DESC"
)
_TARGETS = Sql(
    "SELECT DISTINCT target_id FROM caches WHERE state = 'ready' AND (:target_id = '' OR target_id = :target_id)"
)
_TARGET = Sql("SELECT id FROM targets WHERE id = :name OR name = :name ORDER BY id")


class _Github(msgspec.Struct, frozen=True):
    base_ref: str | None = ""


class _Program(msgspec.Struct, frozen=True):
    github: _Github = _Github()


class _Spec(msgspec.Struct, frozen=True):
    """Of a job's specification only the branch that a pull request is to be merged into."""

    program: _Program | None = None


_decode_spec = msgspec.json.Decoder(_Spec).decode


class Scope(msgspec.Struct, frozen=True):
    """Where entries lie, within a repository."""

    ref: str
    trusted: bool


class Entry(msgspec.Struct, frozen=True):
    """An entry that can be read, and where its bytes are."""

    hit: CacheHit
    blob_key: str


class Pruned(msgspec.Struct, frozen=True):
    """How much was deleted."""

    entries: int = 0
    bytes: int = 0

    def plus(self, sizes: list[int]) -> "Pruned":
        """Return this with so many entries more."""
        return Pruned(self.entries + len(sizes), self.bytes + sum(sizes))


def limits(rules: StorageRules) -> Limits:
    """Return what applies to each entry and to what is on its way into a repository."""
    return Limits(rules.caches_bytes, rules.caches_bytes)


def scopes(connection: Connection, job: JobScope) -> list[Scope]:
    """Return the scopes that a job may read, its own first."""
    row = _BASE.row(connection, job_id=job.job_id)
    program = None if row is None else _decode_spec(row[0]).program
    base = program.github.base_ref if program else ""
    names = [(base or "").removeprefix(_BRANCH), job.default_branch]
    branches = [_BRANCH + name for name in names if name]
    found = [Scope(job.ref, job.trusted), *(Scope(ref, trusted=True) for ref in branches)]
    return list(dict.fromkeys(found))


def find(connection: Connection, job: JobScope, request: FindCacheRequest, now: int) -> CacheHit | Refused | None:
    """Return the entry to restore: in the nearest scope that has one, by the first key that has one."""
    keys = (request.key, *request.restore_keys)
    if fault := fault_in_keys(keys):
        return fault
    if not job.target_id:
        return None
    for scope in scopes(connection, job):
        for key in keys:
            row = _FIND.row(
                connection,
                target_id=job.target_id,
                ref=scope.ref,
                trusted=int(scope.trusted),
                version=request.version,
                key=key,
                length=len(key),
            )
            if row is not None:
                _TOUCH.run(connection, id=row[0], now=now, before=now - _TOUCH_MICROS)
                return _hit(row)
    return None


def reserve(connection: Connection, job: JobScope, cache_id: str, key: str, version: str, now: int) -> str | Refused:
    """Begin an entry and return its id; the same one again for the attempt that began it."""
    if fault := fault_in_keys((key,)):
        return fault
    if job_scopes.locked(connection, job.job_id, job.fence) is None:
        return over()
    if not job.target_id:
        return Refused("cache_refused", "the job's run belongs to no repository")
    place = {"target_id": job.target_id, "ref": job.ref, "trusted": int(job.trusted), "version": version, "key": key}
    known = _NAMED.row(connection, **place)
    if known is not None:
        known_id, state, *holder = known
        uploading = state == UploadState.UPLOADING.value
        if uploading and holder == [job.job_id, job.fence]:
            return str(known_id)
        if not uploading or job_scopes.find(connection, *holder) is not None:
            return Refused("cache_exists", f"{job.ref} has an entry {key!r}, or a job is filling it")
        UPLOADS.end(connection, known_id)
    count = _UPLOADING.row(connection, job_id=job.job_id, fence=job.fence)
    if count is not None and count[0] >= _UPLOADS_OF_AN_ATTEMPT:
        return Refused("quota_exceeded", f"a job fills at most {_UPLOADS_OF_AN_ATTEMPT} entries at once")
    created = _CREATE.run(
        connection,
        id=cache_id,
        number=uploads.next_number(connection, UPLOADS.name),
        organization=DEFAULT_ORGANIZATION,
        run_id=job.run_id,
        job_id=job.job_id,
        fence=job.fence,
        now=now,
        **place,
    )
    return cache_id if created else Refused("cache_exists", f"another job has just begun an entry {key!r}")


def settle(connection: Connection, job: JobScope, cache_id: str, rules: StorageRules, now: int) -> CacheHit | Refused:
    """Take a finished entry for used now, and make room for it."""
    _READY.run(connection, id=cache_id, now=now)
    evict(connection, job.target_id, rules.caches_bytes)
    row = _GET.row(connection, id=cache_id)
    return Refused("not_found", f"there is no entry {cache_id!r}") if row is None else _hit(row)


def open_entry(connection: Connection, job: JobScope, cache_id: str) -> Entry | Refused:
    """Return an entry that the job may read."""
    row = _GET.row(connection, id=cache_id)
    if row is None or row[5] != job.target_id or Scope(row[6], bool(row[7])) not in scopes(connection, job):
        return Refused("not_found", f"there is no entry {cache_id!r}")
    return Entry(_hit(row), row[8])


def evict(connection: Connection, target_id: str, keep_bytes: int) -> Pruned:
    """Delete a repository's least recently used entries, so that the others take no more than so much."""
    sizes: list[int] = []
    total = 0
    for cache_id, size in _BY_USE.rows(connection, target_id=target_id):
        total += size
        if total > keep_bytes:
            UPLOADS.end(connection, cache_id)
            sizes.append(size)
    return Pruned().plus(sizes)


def prune(connection: Connection, repository: str, before: int, keep_bytes: int, limit: int) -> Pruned | Refused:
    """Delete entries that were not used since then, then those beyond so many bytes a repository."""
    target_id = _target_id(connection, repository)
    if isinstance(target_id, Refused):
        return target_id
    pruned = expire(connection, before, limit, target_id)
    for (each,) in _TARGETS.rows(connection, target_id=target_id):
        evicted = evict(connection, each, keep_bytes)
        pruned = Pruned(pruned.entries + evicted.entries, pruned.bytes + evicted.bytes)
    return pruned


def expire(connection: Connection, before: int, limit: int, target_id: str = "") -> Pruned:
    """Delete entries that were not used since then."""
    pruned = Pruned()
    while True:
        sizes = [row[0] for row in _UNUSED.rows(connection, before=before, target_id=target_id, most=limit)]
        pruned = pruned.plus(sizes)
        if len(sizes) < limit:
            return pruned


def forget_orphans(connection: Connection, limit: int) -> int:
    """Delete entries of repositories that are no more; return how many."""
    return _ORPHANS.run(connection, most=limit)


def delete(connection: Connection, cache_id: str) -> Refused | None:
    """Delete an entry."""
    if _GET.row(connection, id=cache_id) is None:
        return Refused("not_found", f"there is no entry {cache_id!r}")
    UPLOADS.end(connection, cache_id)
    return None


def list_for_people(connection: Connection, query: CachesQuery) -> CachesReply | Refused:
    """Return a page of entries, newest first."""
    target_id = _target_id(connection, query.repository)
    if isinstance(target_id, Refused):
        return target_id
    wanted = {"target_id": target_id, "key": query.key, "length": len(query.key)}
    conditions = (bool(target_id), bool(query.key))
    rows = _page(*conditions, bool(query.cursor)).rows(connection, **wanted, cursor=query.cursor, most=query.limit + 1)
    total = _total(*conditions).row(connection, **wanted)
    found = [_view(row) for row in rows[: query.limit]]
    return CachesReply(found, total[0] if total else 0, found[-1].id if len(rows) > query.limit else "")


def fault_in_keys(keys: tuple[str, ...]) -> Refused | None:
    """Return why these cannot be keys."""
    wrong = next((key for key in keys if "," in key), None)
    return None if wrong is None else Refused("value_refused", f"key: {wrong!r} holds a comma")


def _target_id(connection: Connection, repository: str) -> str | Refused:
    if not repository:
        return ""
    row = _TARGET.row(connection, name=repository)
    return Refused("not_found", f"there is no repository {repository!r}") if row is None else str(row[0])


@cache
def _page(of_target: bool, of_key: bool, after: bool) -> Sql:  # noqa: FBT001 - which conditions there are
    columns = "c.ref, c.key, c.version, c.size, c.sha256, c.created_at, c.used_at, c.trusted"
    return Sql(
        f"SELECT c.id, c.number, coalesce(t.name, ''), {columns} FROM caches c"
        f" LEFT JOIN targets t ON t.id = c.target_id WHERE {_where(of_target, of_key)}"
        f"{' AND c.id < :cursor' if after else ''} ORDER BY c.id DESC LIMIT :most"
    )


@cache
def _total(of_target: bool, of_key: bool) -> Sql:  # noqa: FBT001 - which conditions there are
    return Sql(f"SELECT CAST(coalesce(sum(c.size), 0) AS BIGINT) FROM caches c WHERE {_where(of_target, of_key)}")


def _where(of_target: bool, of_key: bool) -> str:  # noqa: FBT001 - which conditions there are
    conditions = ["c.state = 'ready'"]
    conditions += ["c.target_id = :target_id"] if of_target else []
    conditions += ["substr(c.key, 1, CAST(:length AS INTEGER)) = :key"] if of_key else []
    return " AND ".join(conditions)


def _hit(row: Fields) -> CacheHit:
    cache_id, key, size, sha256, created_at = row[:5]
    return CacheHit(cache_id, key, size, f"sha256:{sha256}", created_at)


def _view(row: Fields) -> CacheView:
    cache_id, number, repository, ref, key, version, size, sha256, created_at, used_at, trusted = row
    return CacheView(
        id=cache_id,
        number=number,
        repository=repository,
        ref=ref,
        key=key,
        version=version,
        size=size,
        digest=f"sha256:{sha256}",
        created_at=created_at,
        used_at=used_at,
        trusted=bool(trusted),
    )
