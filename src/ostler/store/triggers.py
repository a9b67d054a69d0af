"""The inbox of happenings: what a forge, a person, a clock or another run told, until it is known what follows.

Whoever tells is answered as soon as the row is stored; reading the repository and starting runs comes after, is tried
again when it fails, and its outcome is kept for people to read. Deliveries are remembered beside it, so that a
repeated one changes nothing (threat 25).
"""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.protocol.v1.program import Raw
from ostler.protocol.v1.repository_messages import TriggerView
from ostler.store import targets
from ostler.store.database import hint
from ostler.store.sql import Fields, Insert, Sql

TOPIC = "triggers"

_INSERT = Insert(
    "triggers",
    {
        "id": "text",
        "target_id": "text",
        "workflow_id": "text",
        "event": "text",
        "source": "text",
        "actor": "text",
        "happening": "text",
        "state": "text",
        "outcome": "text",
        "due_at": "bigint",
        "tries": "bigint",
        "created_at": "bigint",
    },
    conflict="ON CONFLICT (id) DO NOTHING",
)
_COLUMNS = "id, target_id, workflow_id, source, actor, happening, tries, created_at"
_TAKE = Sql(
    "UPDATE triggers SET due_at = :again_at, tries = tries + 1 WHERE open = 1 AND id [picked]"
    "SELECT id FROM triggers WHERE open = 1 AND due_at <= :now ORDER BY due_at LIMIT :most [skip_locked]"
    f"[/picked] RETURNING {_COLUMNS}"
)
_GET = Sql(f"SELECT {_COLUMNS} FROM triggers WHERE id = :id")
_DONE = Sql("UPDATE triggers SET state = 'done', outcome = :outcome WHERE id = :id AND state = 'open'")
_LATER = Sql("UPDATE triggers SET due_at = :due_at, outcome = :outcome WHERE id = :id AND state = 'open'")
_LIST = Sql(
    "SELECT id, event, source, state, outcome, actor, created_at FROM triggers WHERE target_id = :target_id"
    " ORDER BY id DESC LIMIT :most"
)
_DELIVERED = Sql(
    "INSERT INTO deliveries (target_id, delivery, event, received_at) VALUES (:target_id, :delivery, :event, :now)"
    " ON CONFLICT (target_id, delivery) DO NOTHING"
)
_FORGET_DELIVERIES = Sql("DELETE FROM deliveries WHERE received_at < :before")
_FORGET = Sql("DELETE FROM triggers WHERE open = 0 AND created_at < :before")


class Occurrence(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What happened, as far as starting workflows is concerned."""

    event: str
    type: str = ""
    ref: str = ""
    """The full name of the reference that it is about."""
    before: str = ""
    sha: str = ""
    base: str = ""
    """Of a pull request: the branch that it asks to be merged into."""
    base_sha: str = ""
    head: str = ""
    """Of a pull request: its branch."""
    head_sha: str = ""
    fork: bool = False
    """Whether it comes from another repository than the one that it happened to."""
    workflow: str = ""
    """The workflow that ended, of ``workflow_run``."""
    schedule: str = ""
    depth: int = 0
    """How many runs led to this one, each by the end of the one before."""
    inputs: dict[str, Raw] = {}
    payload: dict[str, Raw] = {}
    """What ``github.event`` holds."""


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the inbox. ``workflow_id`` names the one workflow that is meant, if it is only one."""

    id: str
    target_id: str
    source: str
    actor: str
    occurrence: Occurrence
    workflow_id: str | None = None
    tries: int = 0
    created_at: int = 0


_decode = msgspec.json.Decoder(Occurrence).decode


def add(connection: Connection, triggers: Sequence[Trigger], now: int, *, due_at: int | None = None) -> None:
    """Store what happened."""
    _INSERT.run(
        connection,
        [
            (
                each.id,
                each.target_id,
                each.workflow_id,
                each.occurrence.event,
                each.source,
                each.actor,
                msgspec.json.encode(each.occurrence).decode(),
                "open",
                "",
                now if due_at is None else due_at,
                0,
                now,
            )
            for each in triggers
        ],
    )
    if triggers:
        hint(connection, TOPIC)


def deliver(
    connection: Connection, target_id: str, delivery: str, event: str, triggers: Sequence[Trigger], now: int
) -> bool:
    """Store what a delivery tells; ``False`` if it came before."""
    if not _DELIVERED.run(connection, target_id=target_id, delivery=delivery, event=event, now=now):
        return False
    add(connection, triggers, now)
    return True


def ignore(connection: Connection, trigger: Trigger, outcome: str, now: int) -> None:
    """Store what happened and that nothing follows."""
    add(connection, (trigger,), now)
    done(connection, trigger.id, outcome)


def take(connection: Connection, now: int, *, limit: int = 20, hold_micros: int = 600_000_000) -> list[Trigger]:
    """Take what is due; what is not `done` within the hold is handed out again."""
    return [_trigger(row) for row in _TAKE.rows(connection, now=now, again_at=now + hold_micros, most=limit)]


def get(connection: Connection, trigger_id: str) -> Trigger | None:
    """Return one row of the inbox."""
    row = _GET.row(connection, id=trigger_id)
    return None if row is None else _trigger(row)


def done(connection: Connection, trigger_id: str, outcome: str) -> bool:
    """Note what followed; ``False`` if that was noted before."""
    return _DONE.run(connection, id=trigger_id, outcome=outcome[:4000]) == 1


def later(connection: Connection, trigger_id: str, outcome: str, due_at: int) -> None:
    """Have it tried again."""
    _LATER.run(connection, id=trigger_id, outcome=outcome[:4000], due_at=due_at)


def list_recent(connection: Connection, target: str, *, limit: int = 100) -> list[TriggerView] | Refused:
    """Return what happened last to a repository."""
    found = targets.view(connection, target)
    if isinstance(found, Refused):
        return found
    rows = _LIST.rows(connection, target_id=found.id, most=limit)
    return [
        TriggerView(
            id=row[0], event=row[1], source=row[2], state=row[3], outcome=row[4], actor=row[5], created_at=row[6]
        )
        for row in rows
    ]


def forget(connection: Connection, before: int, deliveries_before: int) -> int:
    """Delete what happened before a time, and deliveries that are too old to be repeated; return how many."""
    return _FORGET_DELIVERIES.run(connection, before=deliveries_before) + _FORGET.run(connection, before=before)


def _trigger(row: Fields) -> Trigger:
    trigger_id, target_id, workflow_id, source, actor, happening, tries, created_at = row
    return Trigger(
        id=trigger_id,
        target_id=target_id,
        source=source,
        actor=actor,
        occurrence=_decode(happening),
        workflow_id=workflow_id,
        tries=tries,
        created_at=created_at,
    )
