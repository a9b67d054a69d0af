"""Concurrency groups of a repository: who has one, who waits. What a newcomer changes is decided by the language.

Whoever is concerned by a change is woken and reads here what became of it. Members of one group are serialized by the
row of their repository, because a group that nobody is in has no row to lock.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from ostler.store import workflow_wakes
from ostler.store.sql import Sql
from ostler.workflow.run.concurrency import group_key, join as decide, leave as following
from ostler.workflow.run.effects import JoinGroup, LeaveGroup

REASON = "group"

_LOCK = Sql("SELECT id FROM targets WHERE id = :target_id [lock]")
_MEMBERS = Sql(
    "SELECT run_id, node, held FROM concurrency_groups WHERE target_id = :target_id AND name = :name"
    " ORDER BY held DESC, joined_at, run_id, node"
)
_OF_RUN = Sql("SELECT node, held, unwanted FROM concurrency_groups WHERE run_id = :run_id")
_JOIN = Sql(
    "INSERT INTO concurrency_groups (target_id, name, run_id, node, held, unwanted, joined_at)"
    " VALUES (:target_id, :name, :run_id, :node, :held, 0, :now) ON CONFLICT DO NOTHING"
)
_LEAVE = Sql(
    "DELETE FROM concurrency_groups WHERE target_id = :target_id AND name = :name AND run_id = :run_id AND node = :node"
)
_HOLD = Sql(
    "UPDATE concurrency_groups SET held = 1 WHERE target_id = :target_id AND name = :name AND run_id = :run_id"
    " AND node = :node"
)
_UNWANT = Sql(
    "UPDATE concurrency_groups SET unwanted = 1 WHERE target_id = :target_id AND name = :name AND run_id = :run_id"
    " AND node = :node"
)


class Member(NamedTuple):
    """A run, or a node of one, that is in a group."""

    run_id: str
    node: str


class Membership(NamedTuple):
    """One group of a run: for which of its nodes, whether it has it, and whether a newer one wants it to give way."""

    node: str
    held: bool
    unwanted: bool


def join(connection: Connection, target_id: str, run_id: str, asked: JoinGroup, now: int) -> None:
    """Have a run or one of its nodes in a group, and wake everybody whom that concerns."""
    _LOCK.row(connection, target_id=target_id)
    name, newcomer = group_key(asked.group), Member(run_id, asked.holder)
    holder, waiting = _members(connection, target_id, name)
    decision = decide(holder, waiting, newcomer, cancel_in_progress=asked.cancel_in_progress, queue=asked.queue)
    concerned = {newcomer, *decision.denied, *decision.cancelled}
    for member in decision.denied:
        if member != newcomer:
            _LEAVE.run(connection, target_id=target_id, name=name, **member._asdict())
    for member in decision.cancelled:
        _UNWANT.run(connection, target_id=target_id, name=name, **member._asdict())
    if newcomer not in decision.denied:
        held = int(decision.granted)
        _JOIN.run(connection, target_id=target_id, name=name, held=held, now=now, **newcomer._asdict())
    _wake(connection, concerned, now)


def leave(connection: Connection, target_id: str, run_id: str, left: LeaveGroup, now: int) -> None:
    """Take a run or one of its nodes out of a group; who comes next is woken."""
    _LOCK.row(connection, target_id=target_id)
    name, leaver = group_key(left.group), Member(run_id, left.holder)
    holder, waiting = _members(connection, target_id, name)
    _LEAVE.run(connection, target_id=target_id, name=name, **leaver._asdict())
    if holder == leaver and (successor := following(waiting)) is not None:
        _HOLD.run(connection, target_id=target_id, name=name, **successor._asdict())
        _wake(connection, {successor}, now)


def of_run(connection: Connection, run_id: str) -> list[Membership]:
    """Return which groups a run and its nodes have or wait for."""
    return [Membership(row[0], bool(row[1]), bool(row[2])) for row in _OF_RUN.rows(connection, run_id=run_id)]


def _members(connection: Connection, target_id: str, name: str) -> tuple[Member | None, Sequence[Member]]:
    rows = _MEMBERS.rows(connection, target_id=target_id, name=name)
    members = [Member(row[0], row[1]) for row in rows]
    return (members[0], members[1:]) if rows and rows[0][2] else (None, members)


def _wake(connection: Connection, members: set[Member], now: int) -> None:
    workflow_wakes.wake(connection, [(run_id, REASON) for run_id in sorted({each.run_id for each in members})], now)
