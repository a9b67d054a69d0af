"""Runners: what they say of themselves, whether they are there, and how they are shown.

Stored is what was observed (offline, idle, error); *busy* is derived from open attempts, so that a claim need not
write a runner's row. A runner that was long offline moves to the history and comes back from there with its next
hello, under the same identity.
"""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

import msgspec
from sqlalchemy import Connection

from ostler.domain.job import JobKind, Slot
from ostler.domain.lease import SECOND
from ostler.domain.machine import Refused
from ostler.domain.runner import (
    RETIRED_AFTER_SECONDS,
    RUNNER_MACHINE,
    SILENT_AFTER_SECONDS,
    Admission,
    RunnerEvent,
    RunnerStatus,
)
from ostler.protocol.v1.fleet_messages import RunnersQuery, RunnersReply, RunnerView
from ostler.protocol.v1.runner_messages import Directive, HelloRequest, LeaseRef, Metrics
from ostler.scheduling.demand import RunnerFacts
from ostler.store import attempts, leadership
from ostler.store.database import hint
from ostler.store.sql import Fields, Sql, Update, Value

LOOP: Final = "runner_sweep"
LONGEST_GAP: Final = 20 * SECOND

_ROW = """r.id, r.pool_id, r.name, r.description, r.status, r.admission, r.note, r.paused_until, r.enrolled_labels,
    r.hello, r.metrics, r.version, r.error, r.enrol_key, r.last_seen_at, r.created_at"""
_PLAIN_ROW = _ROW.replace("r.", "")
_FOR_HELLO = Sql("SELECT status, admission, pool_id, name, hello FROM runners WHERE id = :runner_id [lock]")
_POOL = Sql("SELECT allow_multiple_instances FROM pools WHERE id = :pool_id [lock]")
_OTHER_LIVE = Sql(
    "SELECT name FROM runners WHERE pool_id = :pool_id AND id <> :runner_id AND status <> 'offline'"
    " AND last_seen_at >= :since LIMIT 1"
)
_GREET = Sql(
    "UPDATE runners SET status = :status, hello = :hello, version = :version, error = '', last_seen_at = :now"
    " WHERE id = :runner_id"
)
_EVER_LIVE = Sql("UPDATE pools SET ever_live = 1 WHERE id = :pool_id AND ever_live = 0")
_FOR_REPORT = Sql("SELECT status, admission, error, pool_id FROM runners WHERE id = :runner_id [lock]")
_FOR_HEARTBEATS = Sql(
    "SELECT id, status, admission, error, pool_id FROM runners WHERE id [among ids] ORDER BY id [lock]"
)
_SEEN = Update(
    "runners", {"id": "text"}, {"status": "text", "error": "text", "metrics": "text", "last_seen_at": "bigint"}
)
_SET_STATUS = Sql("UPDATE runners SET status = :status, error = :error WHERE id = :runner_id")
_SILENT = Sql(
    "UPDATE runners SET status = 'offline' WHERE status <> 'offline' AND last_seen_at < :before RETURNING id, pool_id"
)
_FORGIVE = Sql("UPDATE runners SET last_seen_at = :now WHERE status <> 'offline'")
_RETIRING = Sql(
    f"SELECT {_ROW} FROM runners r WHERE r.status = 'offline' AND coalesce(r.last_seen_at, r.created_at) < :before"
    " AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.runner_id = r.id AND a.held = 1)"
    " ORDER BY r.id LIMIT :most"
)
_TO_HISTORY = Sql(
    "INSERT INTO runner_history (runner_id, pool_id, name, facts, created_at, retired_at)"
    " VALUES (:runner_id, :pool_id, :name, :facts, :created_at, :now)"
)
_DELETE = Sql("DELETE FROM runners WHERE id = :runner_id")
_FROM_HISTORY = Sql("DELETE FROM runner_history WHERE runner_id = :runner_id RETURNING facts")
_REVIVE = Sql(
    f"INSERT INTO runners ({_PLAIN_ROW}) VALUES (:id, :pool_id, :name, :description, :status, :admission, :note,"
    " :paused_until, :enrolled_labels, :hello, :metrics, :version, :error, :enrol_key, :last_seen_at, :created_at)"
    " ON CONFLICT DO NOTHING"
)
_COLUMNS = tuple(_PLAIN_ROW.replace("\n", " ").replace(" ", "").split(","))
_BUSY = Sql("SELECT runner_id, slot, job_id FROM attempts WHERE runner_id [among ids] AND held = 1")
_COUNT = Sql("SELECT status, count(*) FROM runners GROUP BY status")
_COUNT_BUSY = Sql(
    "SELECT count(DISTINCT a.runner_id) FROM attempts a JOIN runners r ON r.id = a.runner_id"
    " WHERE a.held = 1 AND a.slot = 'primary' AND r.status = 'idle'"
)
_FACTS = (
    "SELECT r.id, r.name, r.pool_id, r.enrolled_labels, r.hello, r.status, r.admission, r.note, p.labels, p.job_kinds"
    " FROM runners r JOIN pools p ON p.id = r.pool_id"
)
_ALL_FACTS = Sql(f"{_FACTS} ORDER BY r.id")
_POOL_FACTS = Sql(f"{_FACTS} WHERE r.pool_id = :pool_id ORDER BY r.id")
_ONE_FACTS = Sql(f"{_FACTS} WHERE r.id = :runner_id")
_FIND = Sql("SELECT id FROM runners WHERE id = :runner OR name = :runner ORDER BY id = :runner DESC, id LIMIT 2")

_encode = msgspec.json.Encoder().encode
_hello = msgspec.json.Decoder(HelloRequest).decode
_metrics = msgspec.json.Decoder(Metrics).decode
_texts = msgspec.json.Decoder(list[str]).decode
_kinds = msgspec.json.Decoder(list[JobKind]).decode


class Welcome(msgspec.Struct, frozen=True):
    """A runner is connected; a verdict on every attempt that it named."""

    pool_id: str
    name: str
    directives: list[Directive]


class Heartbeat(msgspec.Struct, frozen=True):
    """What a runner says every few seconds."""

    runner_id: str
    leases: Sequence[LeaseRef]
    metrics: Metrics
    error: str = ""


class SweptRunners(msgspec.Struct, frozen=True):
    """Who went offline and who left the lists."""

    silent: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()


def hello(connection: Connection, runner_id: str, request: HelloRequest, now: int) -> Welcome | Refused:
    """Connect a runner: note what it is and take up what it still holds."""
    row = _FOR_HELLO.row(connection, runner_id=runner_id)
    if row is None and _revive(connection, runner_id):
        row = _FOR_HELLO.row(connection, runner_id=runner_id)
    if row is None:
        return Refused("not_found", "the runner is not known; enrol it again")
    status, admission, pool_id, name, before = row
    if admission == Admission.REVOKED.value:
        return Refused("runner_revoked", "the runner was revoked")
    pool = _POOL.row(connection, pool_id=pool_id)
    if pool is not None and not pool[0]:
        since = now - SILENT_AFTER_SECONDS * SECOND
        other = _OTHER_LIVE.row(connection, pool_id=pool_id, runner_id=runner_id, since=since)
        if other is not None:
            return Refused("single_process", f"the pool admits one process and {other[0]!r} is connected")
    current = not request.sequence or request.sequence > _hello(before).sequence
    if not current:
        return Welcome(pool_id, name, attempts.reconcile(connection, runner_id, request.held, now, current=False))
    _GREET.run(
        connection,
        runner_id=runner_id,
        status=_after(status, RunnerEvent.HELLO),
        hello=msgspec.json.encode(msgspec.structs.replace(request, held=[])).decode(),
        version=request.version,
        now=now,
    )
    _EVER_LIVE.run(connection, pool_id=pool_id)
    directives = attempts.reconcile(connection, runner_id, request.held, now)
    _tell(connection, runner_id, pool_id)
    return Welcome(pool_id, name, directives)


def heartbeat(
    connection: Connection, runner_id: str, leases: Sequence[LeaseRef], metrics: Metrics, error: str, now: int
) -> list[Directive] | Refused:
    """Note that a runner is there, how it is doing, and renew what it holds."""
    return heartbeat_many(connection, (Heartbeat(runner_id, leases, metrics, error),), now)[0]


def heartbeat_many(connection: Connection, beats: Sequence[Heartbeat], now: int) -> list[list[Directive] | Refused]:
    """Take the heartbeats of many runners in one transaction, each on its own merits."""
    known = {
        row[0]: row[1:] for row in _FOR_HEARTBEATS.rows(connection, ids=sorted({beat.runner_id for beat in beats}))
    }
    seen: dict[str, tuple[Value, ...]] = {}
    refused: dict[int, Refused] = {}
    for index, beat in enumerate(beats):
        row = known.get(beat.runner_id)
        if row is None:
            refused[index] = Refused("not_found", "the runner is not known; it should say hello again")
        elif row[1] == Admission.REVOKED.value:
            refused[index] = Refused("runner_revoked", "the runner was revoked")
        else:
            there = _after(row[0], RunnerEvent.HELLO) if row[0] == RunnerStatus.OFFLINE.value else row[0]
            observed = _after(there, RunnerEvent.FAULT if beat.error else RunnerEvent.RECOVER)
            seen[beat.runner_id] = (observed, beat.error, _encode(beat.metrics).decode(), now, beat.runner_id)
    _SEEN.run(connection, [seen[runner_id] for runner_id in sorted(seen)])
    for runner_id, (observed, error, *_) in seen.items():
        status, _, known_error, pool_id = known[runner_id]
        if observed != status or error != known_error:
            _tell(connection, runner_id, pool_id)
    accepted = [(beat.runner_id, beat.leases) for index, beat in enumerate(beats) if index not in refused]
    renewed = iter(attempts.renew_many(connection, accepted, now))
    return [refused[index] if index in refused else next(renewed) for index in range(len(beats))]


def report(connection: Connection, runner_id: str, status: str, error: str, now: int) -> Refused | None:
    """Take a simple client's word on its own state; ``offline`` gives back what it has not started."""
    row = _FOR_REPORT.row(connection, runner_id=runner_id)
    if row is None:
        return Refused("not_found", "the runner is not known")
    if status == RunnerStatus.OFFLINE.value:
        return leave(connection, runner_id, now)
    _SEEN.run(connection, [(status, error, _encode(Metrics()).decode(), now, runner_id)])
    _tell(connection, runner_id, row[3])
    return None


def leave(connection: Connection, runner_id: str, now: int) -> Refused | None:
    """A runner leaves on purpose: offline at once, its unstarted claims go back."""
    row = _FOR_REPORT.row(connection, runner_id=runner_id)
    if row is None:
        return Refused("not_found", "the runner is not known")
    _SET_STATUS.run(connection, runner_id=runner_id, status=RunnerStatus.OFFLINE.value, error="")
    attempts.give_back(connection, runner_id, now)
    _tell(connection, runner_id, row[3])
    return None


def sweep(connection: Connection, now: int, limit: int = 200) -> SweptRunners:
    """Mark silent runners offline and move long offline ones to the history. Call it every few seconds."""
    if leadership.was_away(connection, LOOP, now, LONGEST_GAP):
        _FORGIVE.run(connection, now=now)
        return SweptRunners()
    silent = _SILENT.rows(connection, before=now - SILENT_AFTER_SECONDS * SECOND)
    for runner_id, pool_id in silent:
        _tell(connection, runner_id, pool_id)
    retiring = _RETIRING.rows(connection, before=now - RETIRED_AFTER_SECONDS * SECOND, most=limit)
    for row in retiring:
        facts = dict(zip(_COLUMNS, row, strict=True))
        encoded = msgspec.json.encode(facts).decode()
        _TO_HISTORY.run(
            connection,
            runner_id=row[0],
            pool_id=row[1],
            name=row[2],
            facts=encoded,
            created_at=facts["created_at"],
            now=now,
        )
        _DELETE.run(connection, runner_id=row[0])
    if retiring:
        hint(connection, "runners")
    return SweptRunners(tuple(row[0] for row in silent), tuple(row[0] for row in retiring))


def _revive(connection: Connection, runner_id: str) -> bool:
    row = _FROM_HISTORY.row(connection, runner_id=runner_id)
    return row is not None and _REVIVE.run(connection, **msgspec.json.decode(row[0])) == 1


def _after(status: str, event: RunnerEvent) -> str:
    following = RUNNER_MACHINE.after(RunnerStatus(status), event)
    return status if isinstance(following, Refused) else following.value


def _tell(connection: Connection, runner_id: str, pool_id: str) -> None:
    hint(connection, "runners")
    hint(connection, f"facts:{runner_id}")
    hint(connection, f"pool:{pool_id}")


# What schedulers need to know


def facts(connection: Connection, *, pool_id: str = "", runner_id: str = "") -> list[RunnerFacts]:
    """Return what decides who may take what: of all runners, of a pool's, or of one."""
    if runner_id:
        rows = _ONE_FACTS.rows(connection, runner_id=runner_id)
    elif pool_id:
        rows = _POOL_FACTS.rows(connection, pool_id=pool_id)
    else:
        rows = _ALL_FACTS.rows(connection)
    busy: dict[str, set[Slot]] = {}
    for holder, slot, _ in _BUSY.rows(connection, ids=[row[0] for row in rows]):
        busy.setdefault(holder, set()).add(Slot(slot))
    return [_facts(row, frozenset(busy.get(row[0], ()))) for row in rows]


def _facts(row: Fields, busy: frozenset[Slot]) -> RunnerFacts:
    runner_id, name, pool_id, labels, said, status, admission, note, pool_labels, pool_kinds = row
    offer = _offer(labels, said, pool_labels, pool_kinds)
    return RunnerFacts(
        id=runner_id,
        name=name,
        pool_id=pool_id,
        labels=offer.labels,
        kinds=offer.kinds,
        isolation=offer.isolation,
        status=RunnerStatus(status),
        admission=Admission(admission),
        note=note,
        busy=busy,
    )


class _Offer(NamedTuple):
    """What a runner can do, from its own words and its pool's."""

    labels: frozenset[str]
    kinds: frozenset[JobKind]
    isolation: str


@lru_cache(maxsize=1024)
def _offer(labels: str, said: str, pool_labels: str, pool_kinds: str) -> _Offer:
    """Remembered, because a fleet says the same again and again: to explain one job all its runners are looked at."""
    told = _hello(said)
    allowed, offered = frozenset(_kinds(pool_kinds)), frozenset(told.job_kinds)
    kinds = allowed & offered if allowed and offered else allowed | offered
    every = frozenset({*_texts(labels), *(label.lower() for label in told.labels), *_texts(pool_labels)})
    return _Offer(every, kinds, told.isolation)


# How runners are shown


def by_status(connection: Connection) -> dict[str, int]:
    """Return how many runners are in each state."""
    busy = int((_COUNT_BUSY.row(connection) or (0,))[0])
    counts = {str(status): int(count) for status, count in _COUNT.rows(connection)}
    counts[RunnerStatus.BUSY.value] = busy
    counts[RunnerStatus.IDLE.value] = max(0, counts.get(RunnerStatus.IDLE.value, 0) - busy)
    return counts


@cache
def _page(*, pool: bool, offline: bool | None, named: bool = False) -> Sql:
    conditions = ["r.id > :cursor"] if not named else ["r.id = :cursor"]
    if pool:
        conditions.append("(p.id = :pool OR p.name = :pool)")
    if offline is not None:
        conditions.append("r.status = :status")
    return Sql(
        f"SELECT {_ROW}, p.name, p.labels FROM runners r JOIN pools p ON p.id = r.pool_id"
        f" WHERE {' AND '.join(conditions)} ORDER BY r.id LIMIT :most"
    )


def list_page(connection: Connection, query: RunnersQuery) -> RunnersReply:
    """Return a page of runners, oldest first."""
    stored = {"offline": "offline", "error": "error", "idle": "idle", "busy": "idle"}.get(query.status)
    found: list[RunnerView] = []
    cursor = query.cursor
    while True:
        sql = _page(pool=bool(query.pool), offline=None if stored is None else True)
        rows = sql.rows(connection, cursor=cursor, pool=query.pool, status=stored, most=query.limit + 1)
        views = _views(connection, rows)
        found += [view for view in views if not query.status or view.status.value == query.status]
        if len(found) > query.limit:
            return RunnersReply(found[: query.limit], next_cursor=found[query.limit - 1].id)
        if len(rows) <= query.limit:
            return RunnersReply(found)
        cursor = rows[-1][0]


def get(connection: Connection, runner: str) -> RunnerView | Refused:
    """Return a runner by its id, or by its name if that names only one."""
    rows = _FIND.rows(connection, runner=runner)
    if not rows or (len(rows) > 1 and rows[0][0] != runner):
        return Refused("not_found", f"there is no runner {runner!r}" if not rows else f"several are named {runner!r}")
    found = _page(pool=False, offline=None, named=True).rows(connection, cursor=rows[0][0], most=1)
    return _views(connection, found)[0]


def _views(connection: Connection, rows: Sequence[Fields]) -> list[RunnerView]:
    held: dict[str, list[tuple[str, str]]] = {}
    for runner_id, slot, job_id in _BUSY.rows(connection, ids=[row[0] for row in rows]):
        held.setdefault(runner_id, []).append((slot, job_id))
    return [_view(row, held.get(row[0], [])) for row in rows]


def _view(row: Fields, held: Sequence[tuple[str, str]]) -> RunnerView:
    fields = dict(zip(_COLUMNS, row, strict=False))
    pool_name, pool_labels = row[len(_COLUMNS) :]
    told = _hello(fields["hello"])
    status = RunnerStatus(fields["status"])
    if status is RunnerStatus.IDLE and any(slot == Slot.PRIMARY.value for slot, _ in held):
        status = RunnerStatus.BUSY
    return RunnerView(
        id=fields["id"],
        name=fields["name"],
        pool_id=fields["pool_id"],
        pool_name=pool_name,
        status=status,
        admission=Admission(fields["admission"]),
        description=fields["description"],
        labels=sorted({*_texts(fields["enrolled_labels"]), *told.labels, *_texts(pool_labels)}),
        job_kinds=told.job_kinds,
        capabilities=told.capabilities,
        tools=told.tools,
        isolation=told.isolation,
        system=told.system,
        metrics=_metrics(fields["metrics"]),
        environment=told.environment,
        version=fields["version"],
        error=fields["error"],
        note=fields["note"],
        paused_until=fields["paused_until"],
        job_ids=[job_id for _, job_id in held],
        last_seen_at=fields["last_seen_at"],
        created_at=fields["created_at"],
    )
