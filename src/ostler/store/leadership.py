"""Exclusive leases for background loops: of all replicas one does the work, and which one does not matter.

Also when a loop last worked, so that one that was away (the whole server was down) does not punish runners for a
silence that was its own.
"""

from sqlalchemy import Connection

from ostler.store.sql import Sql

_TAKE = Sql(
    "INSERT INTO loop_leases (name, holder, term, expires_at, worked_at) VALUES (:name, :holder, 1, :expires_at, 0)"
    " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at,"
    " term = loop_leases.term + CASE WHEN loop_leases.holder = excluded.holder THEN 0 ELSE 1 END"
    " WHERE loop_leases.holder = excluded.holder OR loop_leases.expires_at < :now OR loop_leases.expires_at > :absurd"
    " RETURNING term"
)
_ABSURDLY_LONG = 10
_RELEASE = Sql("UPDATE loop_leases SET expires_at = 0 WHERE name = :name AND holder = :holder")
_WORKED = Sql("SELECT worked_at FROM loop_leases WHERE name = :name")
_WORK = Sql(
    "INSERT INTO loop_leases (name, holder, term, expires_at, worked_at) VALUES (:name, '', 0, 0, :now)"
    " ON CONFLICT (name) DO UPDATE SET worked_at = excluded.worked_at"
)


def acquire(connection: Connection, name: str, holder: str, lease_micros: int, now: int) -> int | None:
    """Take or renew a loop's lease; return its term, which grows when the holder changes, or nothing if it is held.

    A lease that ends further ahead than any would was written by a clock that has been put right since (threat 52).
    """
    absurd = now + _ABSURDLY_LONG * lease_micros
    row = _TAKE.row(connection, name=name, holder=holder, expires_at=now + lease_micros, now=now, absurd=absurd)
    return row[0] if row else None


def release(connection: Connection, name: str, holder: str) -> None:
    """Let go of a lease so that another replica need not wait for its expiry."""
    _RELEASE.run(connection, name=name, holder=holder)


def was_away(connection: Connection, name: str, now: int, gap_micros: int) -> bool:
    """Note that a loop works now; return whether nobody had worked at it for longer than the gap."""
    row = _WORKED.row(connection, name=name)
    _WORK.run(connection, name=name, now=now)
    return row is None or not 0 <= now - row[0] <= gap_micros
