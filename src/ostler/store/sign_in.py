"""People: users, the one-time codes they sign in with, and their sessions. Only hashes of secrets are stored."""

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.protocol.v1.fleet_messages import Identity
from ostler.store.pools import ORGANIZATION
from ostler.store.sql import Sql
from ostler.store.tokens import digest_of

_ENSURE_USER = Sql(
    "INSERT INTO users (id, organization_id, name, role, disabled, created_at)"
    " VALUES (:id, :organization, :name, :role, 0, :now) ON CONFLICT (organization_id, name) DO NOTHING"
)
_USER_BY_NAME = Sql("SELECT id, name, role FROM users WHERE organization_id = :organization AND name = :name")
_ADD_CODE = Sql("INSERT INTO sign_in_codes (digest, user_id, expires_at) VALUES (:digest, :user_id, :expires_at)")
_USE_CODE = Sql("DELETE FROM sign_in_codes WHERE digest = :digest AND expires_at > :now RETURNING user_id")
_USER = Sql("SELECT id, name, role FROM users WHERE id = :user_id AND disabled = 0")
_ADD_SESSION = Sql(
    "INSERT INTO sessions (digest, user_id, created_at, expires_at) VALUES (:digest, :user_id, :now, :expires_at)"
)
_SESSION = Sql(
    "SELECT u.id, u.name, u.role, s.expires_at FROM sessions s JOIN users u ON u.id = s.user_id"
    " WHERE s.digest = :digest AND s.expires_at > :now AND u.disabled = 0"
)
_EXTEND = Sql("UPDATE sessions SET expires_at = :expires_at WHERE digest = :digest AND expires_at > :now")
_END = Sql("DELETE FROM sessions WHERE digest = :digest")
_FORGET_SESSIONS = Sql("DELETE FROM sessions WHERE expires_at < :now")
_FORGET_CODES = Sql("DELETE FROM sign_in_codes WHERE expires_at < :now")


class Session(msgspec.Struct, frozen=True):
    """Who is signed in, and until when if nothing extends it."""

    identity: Identity
    expires_at: int


def ensure_user(connection: Connection, user_id: str, name: str, role: str, now: int) -> Identity:
    """Return the user of this name; make one with this id and role if there is none."""
    _ENSURE_USER.run(connection, id=user_id, organization=ORGANIZATION, name=name, role=role, now=now)
    rows = _USER_BY_NAME.rows(connection, organization=ORGANIZATION, name=name)
    return Identity(*rows[0])


def create_code(connection: Connection, code: str, user_id: str, expires_at: int) -> None:
    """Store a one-time code that was drawn at random."""
    _ADD_CODE.run(connection, digest=digest_of(code), user_id=user_id, expires_at=expires_at)


def use_code(connection: Connection, code: str, now: int) -> Identity | Refused:
    """Exchange a code for its user, once."""
    row = _USE_CODE.row(connection, digest=digest_of(code), now=now)
    user = None if row is None else _USER.row(connection, user_id=row[0])
    return Refused("unauthenticated", "the code is unknown, used or expired") if user is None else Identity(*user)


def create_session(connection: Connection, secret: str, user_id: str, now: int, expires_at: int) -> None:
    """Store a session whose secret only the browser keeps."""
    _ADD_SESSION.run(connection, digest=digest_of(secret), user_id=user_id, now=now, expires_at=expires_at)


def session(connection: Connection, secret: str, now: int) -> Session | None:
    """Return who a session belongs to, if it is valid."""
    row = _SESSION.row(connection, digest=digest_of(secret), now=now)
    return Session(Identity(row[0], row[1], row[2]), row[3]) if row else None


def extend_session(connection: Connection, secret: str, now: int, expires_at: int) -> bool:
    """Let a valid session last until a later time; false if it has ended."""
    return _EXTEND.run(connection, digest=digest_of(secret), now=now, expires_at=expires_at) == 1


def end_session(connection: Connection, secret: str) -> None:
    """Sign out; a second time changes nothing."""
    _END.run(connection, digest=digest_of(secret))


def forget_expired(connection: Connection, now: int) -> int:
    """Delete expired sessions and codes; return how many."""
    return _FORGET_SESSIONS.run(connection, now=now) + _FORGET_CODES.run(connection, now=now)
