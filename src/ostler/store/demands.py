"""The rows of demand classes and where their queues begin."""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

import hashlib
from collections.abc import Iterable, Sequence

import msgspec
from sqlalchemy import Connection

from ostler.domain.job import JobKind
from ostler.scheduling.demand import DemandClass
from ostler.store.database import hint
from ostler.store.sql import Fields, Insert, Sql

_ENSURE = Insert(
    "demand_classes",
    {
        "id": "text",
        "pool_id": "text",
        "slot": "text",
        "kind": "text",
        "labels": "text",
        "runner_name": "text",
        "isolation": "text",
        "created_at": "bigint",
    },
    conflict="ON CONFLICT (id) DO NOTHING",
)
_COLUMNS = "id, pool_id, kind, labels, runner_name, isolation"
_KNOWN = Sql("SELECT id FROM demand_classes WHERE id [among ids]")
_ALL = Sql(f"SELECT {_COLUMNS} FROM demand_classes ORDER BY created_at, id")
_GET = Sql(f"SELECT {_COLUMNS} FROM demand_classes WHERE id [among ids]")
_HEAD = Sql(
    "SELECT urgency, position FROM jobs WHERE waiting = 1 AND demand_id = :demand_id ORDER BY urgency, position LIMIT 1"
)
_FORGET = Sql(
    "DELETE FROM demand_classes WHERE created_at < :before"
    " AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.demand_id = demand_classes.id AND jobs.state IN"
    " ('queued', 'claimed', 'running', 'cancelling'))"
)


class Head(msgspec.Struct, frozen=True, order=True):
    """The front of a class's queue: less is served earlier."""

    urgency: int
    position: int


def demand_class(
    *, pool_id: str, kind: JobKind, labels: Sequence[str] = (), runner_name: str = "", isolation: str = ""
) -> DemandClass:
    """Return the class of these demands; its id follows from them, so every replica names it alike."""
    ordered = tuple(sorted(labels))
    content = msgspec.json.encode([pool_id, kind.value, ordered, runner_name, isolation])
    return DemandClass(
        id=f"dem_{hashlib.sha256(content).hexdigest()[:26]}",
        pool_id=pool_id,
        kind=kind,
        labels=ordered,
        runner_name=runner_name,
        isolation=isolation,
    )


def ensure(connection: Connection, demands: Iterable[DemandClass], now: int) -> None:
    """Have a row for each of these classes."""
    wanted = {demand.id: demand for demand in demands}
    known = {str(row[0]) for row in _KNOWN.rows(connection, ids=list(wanted))}
    fresh = [wanted[demand_id] for demand_id in sorted(wanted.keys() - known)]
    rows = [
        (
            demand.id,
            demand.pool_id,
            demand.slot.value,
            demand.kind.value,
            msgspec.json.encode(demand.labels).decode(),
            demand.runner_name,
            demand.isolation,
            now,
        )
        for demand in fresh
    ]
    _ENSURE.run(connection, rows)
    for demand in fresh:
        hint(connection, f"demands:{demand.pool_id}")


def all_classes(connection: Connection) -> list[DemandClass]:
    """Return every class, oldest first; a server keeps them in memory and refreshes on the hint ``demands:``."""
    return [_from_row(row) for row in _ALL.rows(connection)]


def get(connection: Connection, demand_ids: Sequence[str]) -> dict[str, DemandClass]:
    """Return these classes by id."""
    return {str(row[0]): _from_row(row) for row in _GET.rows(connection, ids=list(demand_ids))}


def heads(connection: Connection, demand_ids: Iterable[str]) -> dict[str, Head]:
    """Return the front of each class's queue; classes without waiting jobs are absent."""
    found: dict[str, Head] = {}
    for demand_id in demand_ids:
        row = _HEAD.row(connection, demand_id=demand_id)
        if row is not None:
            found[demand_id] = Head(*row)
    return found


def forget_unused(connection: Connection, before: int) -> int:
    """Delete classes made before a time that no open job belongs to; return how many."""
    return _FORGET.run(connection, before=before)


def _from_row(row: Fields) -> DemandClass:
    demand_id, pool_id, kind, labels, runner_name, isolation = row
    return DemandClass(
        id=demand_id,
        pool_id=pool_id,
        kind=JobKind(kind),
        labels=tuple(msgspec.json.decode(labels, type=list[str])),
        runner_name=runner_name,
        isolation=isolation,
    )
