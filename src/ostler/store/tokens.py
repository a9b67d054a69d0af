"""Registration and API tokens: only their hashes are stored (rule 16)."""

import hashlib

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.protocol.v1.fleet_messages import CreateTokenRequest, Identity, TokenView
from ostler.store import pools
from ostler.store.sql import Fields, Sql

_INSERT = Sql(
    "INSERT INTO tokens (id, organization_id, kind, name, digest, user_id, pool_id, uses_left, created_at, expires_at)"
    " VALUES (:id, :organization, :kind, :name, :digest, :user_id, :pool_id, :uses_left, :now, :expires_at)"
)
_LIST = Sql(
    "SELECT t.id, t.kind, t.name, t.created_at, t.expires_at, coalesce(p.name, ''), t.uses_left, t.revoked_at"
    " FROM tokens t LEFT JOIN pools p ON p.id = t.pool_id WHERE t.expires_at > :now AND t.revoked_at IS NULL"
    " AND (t.uses_left IS NULL OR t.uses_left > 0) ORDER BY t.id DESC"
)
_REVOKE = Sql("UPDATE tokens SET revoked_at = coalesce(revoked_at, CAST(:now AS BIGINT)) WHERE id = :token_id")
_IDENTIFY = Sql(
    "SELECT u.id, u.name, u.role FROM tokens t JOIN users u ON u.id = t.user_id WHERE t.digest = :digest"
    " AND t.kind = 'api' AND t.expires_at > :now AND t.revoked_at IS NULL AND u.disabled = 0"
)
_FORGET = Sql("DELETE FROM tokens WHERE expires_at < :before")


class NewToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token whose secret its maker has shown once; ``secret`` itself is not stored."""

    id: str
    secret: str
    user_id: str


def digest_of(secret: str) -> str:
    """Return what is stored of a secret that was drawn at random; such secrets need no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def create(connection: Connection, token: NewToken, request: CreateTokenRequest, now: int) -> TokenView | Refused:
    """Store a registration token of a pool, or an API token of the user."""
    pool_id = pool_name = None
    if request.kind == "registration":
        target = pools.resolve(connection, (request.pool,))[request.pool]
        if isinstance(target, Refused):
            return target
        pool = pools.get(connection, target.pool_id)
        if isinstance(pool, Refused):
            return pool
        pool_id, pool_name = pool.id, pool.name
    expires_at = now + request.ttl_ms * 1000
    uses = request.uses if request.kind == "registration" else None
    _INSERT.run(
        connection,
        id=token.id,
        organization=pools.ORGANIZATION,
        kind=request.kind,
        name=request.name,
        digest=digest_of(token.secret),
        user_id=token.user_id,
        pool_id=pool_id,
        uses_left=uses,
        now=now,
        expires_at=expires_at,
    )
    return TokenView(token.id, request.kind, request.name, now, expires_at, pool_name or "", uses)


def list_valid(connection: Connection, now: int) -> list[TokenView]:
    """Return the tokens that still count, newest first."""
    return [_view(row) for row in _LIST.rows(connection, now=now)]


def revoke(connection: Connection, token_id: str, now: int) -> Refused | None:
    """Revoke a token; a second time changes nothing."""
    if not _REVOKE.run(connection, token_id=token_id, now=now):
        return Refused("not_found", f"there is no token {token_id!r}")
    return None


def identify(connection: Connection, secret: str, now: int) -> Identity | None:
    """Return whose API token this is, if it is valid."""
    row = _IDENTIFY.row(connection, digest=digest_of(secret), now=now)
    return Identity(*row) if row else None


def forget_expired(connection: Connection, before: int) -> int:
    """Delete tokens that expired before a time; return how many."""
    return _FORGET.run(connection, before=before)


def _view(row: Fields) -> TokenView:
    token_id, kind, name, created_at, expires_at, pool_name, uses_left, revoked_at = row
    return TokenView(token_id, kind, name, created_at, expires_at, pool_name, uses_left, revoked_at is not None)
