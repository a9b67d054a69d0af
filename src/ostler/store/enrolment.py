"""Enrolling a runner: a registration token is used up and a runner with a key appears, in one transaction.

Also the proofs a runner signs with that key later: a replayed assertion is refused (threat 4).
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from sqlalchemy import Connection

from ostler.domain.labels import checked_labels
from ostler.domain.machine import Refused
from ostler.domain.runner import Admission, RunnerStatus
from ostler.protocol.v1.runner_messages import EnrolReply, EnrolRequest, HelloRequest, Metrics
from ostler.store.database import hint
from ostler.store.sql import Fields, Sql
from ostler.store.tokens import digest_of

_LIVE: Final = ("idle", "busy", "error")

# The guard makes the use atomic: of fifty at once, only as many as there are uses get a row back.
_USE_TOKEN = Sql(
    "UPDATE tokens SET uses_left = uses_left - 1, last_used_at = :now WHERE digest = :digest"
    " AND kind = 'registration' AND uses_left > 0 AND expires_at > :now AND revoked_at IS NULL RETURNING pool_id"
)
_TOKEN_POOL = Sql("SELECT pool_id FROM tokens WHERE digest = :digest AND kind = 'registration'")
_POOL = Sql("SELECT id, name, allow_multiple_instances FROM pools WHERE id = :pool_id [lock]")
_SAME_NAME = Sql("SELECT id, status, enrol_key, admission FROM runners WHERE pool_id = :pool_id AND name = :name")
_RETIRED = Sql(
    "SELECT h.runner_id, h.facts FROM runner_keys k JOIN runner_history h ON h.runner_id = k.runner_id"
    " WHERE k.public_key = :public_key AND k.revoked_at IS NULL AND h.pool_id = :pool_id AND h.name = :name"
)
_KEY_OF = Sql("SELECT 1 FROM runner_keys WHERE runner_id = :runner_id AND public_key = :public_key")
_OTHERS = Sql("SELECT name, status FROM runners WHERE pool_id = :pool_id AND admission <> 'revoked'")
_HOLDS = Sql("SELECT 1 FROM attempts WHERE runner_id = :runner_id AND held = 1")
_INSERT = Sql(
    "INSERT INTO runners (id, pool_id, name, description, status, admission, note, paused_until, enrolled_labels,"
    " hello, metrics, version, error, enrol_key, last_seen_at, created_at) VALUES (:id, :pool_id, :name,"
    " :description, :status, :admission, '', NULL, :labels, :hello, :metrics, :version, '', :enrol_key, NULL, :now)"
)
_REMOVE = Sql("DELETE FROM runners WHERE id = :runner_id")
_REVOKE_KEYS = Sql("UPDATE runner_keys SET revoked_at = :now WHERE runner_id = :runner_id AND revoked_at IS NULL")
_ADD_KEY = Sql("INSERT INTO runner_keys (runner_id, public_key, created_at) VALUES (:runner_id, :public_key, :now)")
_KEYS = Sql(
    "SELECT k.public_key, coalesce(r.admission, 'active') FROM runner_keys k LEFT JOIN runners r ON r.id = k.runner_id"
    " WHERE k.runner_id = :runner_id AND k.revoked_at IS NULL"
)
_ADD_JTI = Sql(
    "INSERT INTO assertion_jti (runner_id, jti, expires_at) VALUES (:runner_id, :jti, :expires_at)"
    " ON CONFLICT DO NOTHING"
)
_FORGET_JTI = Sql("DELETE FROM assertion_jti WHERE expires_at < :now")


class _Facts(msgspec.Struct, frozen=True):
    admission: Admission


class RunnerKeys(msgspec.Struct, frozen=True):
    """The keys whose signatures are valid now, and whether people let the runner in."""

    public_keys: tuple[str, ...]
    admission: Admission


def enrol(connection: Connection, request: EnrolRequest, runner_id: str, now: int) -> EnrolReply | Refused:
    """Turn a registration token into a runner; the same public key gets the same runner again."""
    labels = checked_labels(request.labels)
    if isinstance(labels, Refused):
        return labels
    digest = digest_of(request.registration_token)
    token = _TOKEN_POOL.row(connection, digest=digest)
    pool = None if token is None else _POOL.row(connection, pool_id=token[0])
    if pool is None:
        return _refused()
    pool_id, pool_name, multiple = pool
    same = _SAME_NAME.row(connection, pool_id=pool_id, name=request.name)
    if (
        same is not None
        and _is_answered_by(same, request)
        and _KEY_OF.row(connection, runner_id=same[0], public_key=request.public_key)
    ):
        return EnrolReply(same[0], pool_id, pool_name)
    retired = None if same is not None else _retired(connection, request, pool_id)
    if retired is not None:
        return EnrolReply(retired, pool_id, pool_name)
    if same is not None and (_is_live(same) or _HOLDS.row(connection, runner_id=same[0])):
        return Refused("runner_name_taken", f"a live runner of pool {pool_name!r} is named {request.name!r}")
    others = [name for name, status in _OTHERS.rows(connection, pool_id=pool_id) if status in _LIVE]
    if others and not multiple:
        return Refused("single_process", f"pool {pool_name!r} admits one process and {others[0]!r} is connected")
    if _USE_TOKEN.row(connection, digest=digest, now=now) is None:
        return _refused()
    if same is not None:
        _REVOKE_KEYS.run(connection, runner_id=same[0], now=now)
        _REMOVE.run(connection, runner_id=same[0])
    _insert(connection, request, runner_id, pool_id, labels, now)
    return EnrolReply(runner_id, pool_id, pool_name)


def _is_answered_by(same: Fields, request: EnrolRequest) -> bool:
    """Whether who holds this public key is already the runner that the request asks for.

    An applicant whose request was not answered may ask again with another token, under another idempotency key but with
    the same public key; then the earlier request may arrive last, and must not replace whom the later one made.
    """
    return same[2] == request.key or same[3] != Admission.REVOKED.value


def _retired(connection: Connection, request: EnrolRequest, pool_id: str) -> str | None:
    """Return who holds this public key and went to the history unaware of who it is; its hello brings it back."""
    row = _RETIRED.row(connection, public_key=request.public_key, pool_id=pool_id, name=request.name)
    if row is None or msgspec.json.decode(row[1], type=_Facts).admission is Admission.REVOKED:
        return None
    return row[0]


def _is_live(same: Fields) -> bool:
    """Whether the name is in use; a revoked runner holds nothing any more, and may be the one that comes back."""
    return same[1] in _LIVE and same[3] != Admission.REVOKED.value


def _insert(
    connection: Connection, request: EnrolRequest, runner_id: str, pool_id: str, labels: Sequence[str], now: int
) -> None:
    hello = HelloRequest(protocol=1, version=request.version, system=request.system)
    _INSERT.run(
        connection,
        id=runner_id,
        pool_id=pool_id,
        name=request.name,
        description=request.description,
        status=RunnerStatus.OFFLINE.value,
        admission=Admission.ACTIVE.value,
        labels=msgspec.json.encode(labels).decode(),
        hello=msgspec.json.encode(hello).decode(),
        metrics=msgspec.json.encode(Metrics()).decode(),
        version=request.version,
        enrol_key=request.key,
        now=now,
    )
    _ADD_KEY.run(connection, runner_id=runner_id, public_key=request.public_key, now=now)
    hint(connection, "runners")


def keys(connection: Connection, runner_id: str) -> RunnerKeys | None:
    """Return what a runner's assertion is checked against; nothing for a runner that is not known."""
    rows = _KEYS.rows(connection, runner_id=runner_id)
    return RunnerKeys(tuple(row[0] for row in rows), Admission(rows[0][1])) if rows else None


def use_assertion(connection: Connection, runner_id: str, jti: str, expires_at: int) -> bool:
    """Note an assertion's id until it expires; false if it was presented before."""
    return _ADD_JTI.run(connection, runner_id=runner_id, jti=jti, expires_at=expires_at) == 1


def forget_assertions(connection: Connection, now: int) -> int:
    """Delete the ids of expired assertions; return how many."""
    return _FORGET_JTI.run(connection, now=now)


def _refused() -> Refused:
    return Refused("registration_refused", "the registration token is unknown, expired, used up or revoked")
