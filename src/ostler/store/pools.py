"""Pools: where jobs may run, and which one a job goes to (rules 1 and 3)."""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from sqlalchemy import Connection

from ostler.domain.job import JobKind
from ostler.domain.labels import checked_labels
from ostler.domain.machine import Refused
from ostler.domain.pool import PoolStatus, checked_name
from ostler.protocol.v1.fleet_messages import CreatePoolRequest, PoolView, UpdatePoolRequest
from ostler.store.database import hint
from ostler.store.sql import Fields, Sql

HOSTED_ID: Final = "pool_hosted"
ORGANIZATION: Final = "org_default"

_COLUMNS = """p.id, p.name, p.description, p.labels, p.replicas, p.job_kinds, p.allow_multiple_instances, p.disabled,
    p.hosted, p.ever_live, p.created_at"""
_BY_NAME = Sql("SELECT id, name FROM pools WHERE name [among names] OR id [among names]")
_DEFAULT = Sql("SELECT default_pool_id FROM organizations WHERE id = :organization")
_VIEWS = Sql(
    f"SELECT {_COLUMNS}, o.default_pool_id,"
    " (SELECT count(*) FROM runners r WHERE r.pool_id = p.id AND r.status IN ('idle', 'busy', 'error')),"
    " (SELECT count(*) FROM attempts a JOIN runners r ON r.id = a.runner_id WHERE r.pool_id = p.id"
    "  AND a.held = 1 AND a.slot = 'primary'),"
    " (SELECT count(*) FROM (SELECT 1 AS one FROM jobs j WHERE j.pool_id = p.id AND j.waiting = 1"
    "  LIMIT :counted) AS counted_jobs)"
    " FROM pools p JOIN organizations o ON o.id = p.organization_id"
    " ORDER BY p.hosted DESC, p.name"
)
_WAITING = Sql(
    "SELECT (SELECT count(*) FROM (SELECT 1 AS one FROM jobs j WHERE j.pool_id = p.id AND j.waiting = 1"
    " LIMIT :counted) AS counted_jobs) FROM pools p"
)
_LOCK = Sql(
    "SELECT id, name, description, labels, replicas, job_kinds, allow_multiple_instances, disabled, hosted, ever_live,"
    " created_at FROM pools WHERE id = :pool OR name = :pool ORDER BY id = :pool DESC LIMIT 1 [lock]"
)
_INSERT = Sql(
    "INSERT INTO pools (id, organization_id, name, slug, description, labels, replicas, job_kinds,"
    " allow_multiple_instances, disabled, hosted, ever_live, created_at)"
    " VALUES (:id, :organization, :name, :slug, :description, :labels, :replicas, :job_kinds, :multiple, 0, 0, 0, :now)"
    " ON CONFLICT DO NOTHING"
)
_UPDATE = Sql(
    "UPDATE pools SET description = :description, labels = :labels, replicas = :replicas, job_kinds = :job_kinds,"
    " allow_multiple_instances = :multiple, disabled = :disabled WHERE id = :id"
)
_DELETE = Sql("DELETE FROM pools WHERE id = :id AND hosted = 0")
_OPEN_JOB = Sql(
    "SELECT 1 FROM jobs WHERE pool_id = :pool_id AND waiting = 1 UNION ALL"
    " SELECT 1 FROM attempts a JOIN jobs j ON j.id = a.job_id WHERE a.held = 1"
    " AND j.pool_id = :pool_id LIMIT 1"
)
_SET_DEFAULT = Sql("UPDATE organizations SET default_pool_id = :pool_id WHERE id = :organization")
_CLEAR_DEFAULT = Sql("UPDATE organizations SET default_pool_id = NULL WHERE default_pool_id = :pool_id")
_REVOKE_TOKENS = Sql("UPDATE tokens SET revoked_at = :now WHERE pool_id = :pool_id AND revoked_at IS NULL")
_REMOVE_RUNNERS = Sql("DELETE FROM runners WHERE pool_id = :pool_id")
_REMOVE_CLASSES = Sql("DELETE FROM demand_classes WHERE pool_id = :pool_id")

COUNTED_JOBS: Final = 10_000
"""Waiting jobs are counted up to here: pages show the number, and a longer count costs more than it tells."""


class Target(msgspec.Struct, frozen=True):
    """A pool that a job goes to, and the level of the model that chose it."""

    pool_id: str
    level: str


def resolve(connection: Connection, names: Iterable[str]) -> dict[str, Target | Refused]:
    """Return the pool of each name or id.

    The empty name, and `default` where no pool has that name, mean the organization's default, else the hosted pool.
    """
    wanted = set(names)
    found: dict[str, str] = {}
    if named := sorted(wanted - {""}):
        for pool_id, name in _BY_NAME.rows(connection, names=named):
            found.setdefault(name, pool_id)
            found[pool_id] = pool_id
    targets: dict[str, Target | Refused] = {}
    for name in wanted:
        if name in found:
            targets[name] = Target(found[name], "job")
        elif name in ("", "default"):
            row = _DEFAULT.row(connection, organization=ORGANIZATION)
            chosen = row[0] if row else None
            targets[name] = Target(chosen, "organization") if chosen else Target(HOSTED_ID, "hosted")
        else:
            targets[name] = _unknown(name)
    return targets


def list_all(connection: Connection) -> list[PoolView]:
    """Return all pools, the hosted one first."""
    return [_view(row) for row in _VIEWS.rows(connection, counted=COUNTED_JOBS)]


def waiting_jobs(connection: Connection) -> int:
    """Return how many jobs wait in all pools, each counted only so far."""
    return sum(row[0] for row in _WAITING.rows(connection, counted=COUNTED_JOBS))


def get(connection: Connection, pool: str) -> PoolView | Refused:
    """Return a pool by its id or name."""
    views = list_all(connection)
    chosen = next((view for view in views if view.id == pool), None)
    return chosen or next((view for view in views if view.name == pool), None) or _unknown(pool)


def create(connection: Connection, pool_id: str, request: CreatePoolRequest, now: int) -> PoolView | Refused:
    """Create a pool under a new id."""
    name = checked_name(request.name)
    if isinstance(name, Refused):
        return name
    labels = checked_labels(request.labels)
    if isinstance(labels, Refused):
        return labels
    written = _INSERT.run(
        connection,
        id=pool_id,
        organization=ORGANIZATION,
        name=name,
        slug=slug(name),
        description=request.description,
        labels=_json(labels),
        replicas=request.replicas,
        job_kinds=_json(request.job_kinds),
        multiple=int(request.allow_multiple_instances),
        now=now,
    )
    if not written:
        return Refused("name_taken", f"a pool named {name!r}, or one that reads the same in Kubernetes, exists already")
    hint(connection, "pools")
    return get(connection, pool_id)


def update(connection: Connection, pool: str, request: UpdatePoolRequest) -> PoolView | Refused:
    """Change what the request names; making the hosted pool the default clears a custom default."""
    row = _LOCK.row(connection, pool=pool)
    if row is None:
        return _unknown(pool)
    view = _view((*row, None, 0, 0, 0))
    labels = checked_labels(view.labels if request.labels is None else request.labels)
    if isinstance(labels, Refused):
        return labels
    kinds = view.job_kinds if request.job_kinds is None else request.job_kinds
    multiple = request.allow_multiple_instances
    disabled = request.disabled
    _UPDATE.run(
        connection,
        id=view.id,
        description=view.description if request.description is None else request.description,
        labels=_json(labels),
        replicas=view.replicas if request.replicas is None else request.replicas,
        job_kinds=_json(kinds),
        multiple=int(view.allow_multiple_instances if multiple is None else multiple),
        disabled=int(view.disabled if disabled is None else disabled),
    )
    if request.default is True:
        chosen = None if view.hosted else view.id
        _SET_DEFAULT.run(connection, pool_id=chosen, organization=ORGANIZATION)
    elif request.default is False:
        _CLEAR_DEFAULT.run(connection, pool_id=view.id)
    hint(connection, "pools")
    hint(connection, f"pool:{view.id}")
    hint(connection, f"queue:{view.id}")
    return get(connection, view.id)


def delete(connection: Connection, pool: str, now: int) -> Refused | None:
    """Delete a pool without open jobs; its tokens and runners go with it, and the default falls back to hosted."""
    row = _LOCK.row(connection, pool=pool)
    if row is None:
        return _unknown(pool)
    pool_id, hosted = row[0], row[8]
    if hosted:
        return Refused("pool_hosted", "the hosted pool is built in and cannot be deleted")
    if _OPEN_JOB.row(connection, pool_id=pool_id) is not None:
        return Refused("pool_in_use", f"the pool {row[1]!r} still has waiting or running jobs")
    _CLEAR_DEFAULT.run(connection, pool_id=pool_id)
    _REVOKE_TOKENS.run(connection, pool_id=pool_id, now=now)
    _REMOVE_RUNNERS.run(connection, pool_id=pool_id)
    _REMOVE_CLASSES.run(connection, pool_id=pool_id)
    _DELETE.run(connection, id=pool_id)
    hint(connection, "pools")
    return None


def slug(name: str) -> str:
    """Return the Kubernetes-safe form of a name (rule 21)."""
    return name.lower().replace("_", "-").strip("-") or "pool"


def _unknown(pool: str) -> Refused:
    return Refused("not_found", f"there is no pool {pool!r}")


def _json(values: Sequence[str]) -> str:
    return msgspec.json.encode(values).decode()


def _view(row: Fields) -> PoolView:
    pool_id, name, description, labels, replicas, kinds, multiple, disabled, hosted, ever_live, created_at = row[:11]
    default_id, live, busy, waiting = row[11:]
    if disabled:
        status = PoolStatus.DISABLED
    elif live:
        status = PoolStatus.HEALTHY
    else:
        status = PoolStatus.OFFLINE if ever_live else PoolStatus.INACTIVE
    return PoolView(
        id=pool_id,
        name=name,
        status=status,
        description=description,
        labels=msgspec.json.decode(labels, type=list[str]),
        replicas=replicas,
        job_kinds=msgspec.json.decode(kinds, type=list[JobKind]),
        allow_multiple_instances=bool(multiple),
        disabled=bool(disabled),
        hosted=bool(hosted),
        default=pool_id == (default_id or HOSTED_ID),
        live_runners=live,
        busy_runners=busy,
        waiting_jobs=waiting,
        created_at=created_at,
    )
