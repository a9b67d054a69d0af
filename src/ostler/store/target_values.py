"""The variables and secrets of a repository, by name. A secret's value is sealed and never shown again."""

from collections.abc import Collection
from typing import Final, Literal, TypeAlias

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.domain.repository import checked_value_name
from ostler.logs.masker import why_not_masked
from ostler.protocol.v1.repository_messages import ValueView
from ostler.store import targets
from ostler.store.sealing import Sealer
from ostler.store.sql import Sql

Kind: TypeAlias = Literal["secret", "variable"]
MOST: Final = 1000
LONGEST_VARIABLE: Final = 48 * 1024

_SET = Sql(
    "INSERT INTO target_values (target_id, kind, name, value, sealed, updated_at)"
    " VALUES (:target_id, :kind, :name, :value, :sealed, :now) ON CONFLICT (target_id, kind, name)"
    " DO UPDATE SET value = excluded.value, sealed = excluded.sealed, updated_at = excluded.updated_at"
)
_COUNT = Sql("SELECT count(*) FROM target_values WHERE target_id = :target_id AND kind = :kind AND name <> :name")
_LIST = Sql(
    "SELECT name, updated_at, value FROM target_values WHERE target_id = :target_id AND kind = :kind ORDER BY name"
)
_SEALED = Sql("SELECT name, sealed FROM target_values WHERE target_id = :target_id AND kind = 'secret'")
_DELETE = Sql("DELETE FROM target_values WHERE target_id = :target_id AND kind = :kind AND name = :name")


class Prepared(msgspec.Struct, frozen=True):
    """A value ready to be stored."""

    target_id: str
    kind: Kind
    name: str
    value: str
    sealed: bytes | None


def prepare(target_id: str, kind: Kind, name: str, value: str, sealer: Sealer) -> Prepared | Refused:
    """Check a value and seal it if it is a secret, outside of any transaction."""
    stored = checked_value_name(name)
    if isinstance(stored, Refused):
        return stored
    if kind == "variable":
        if len(value) > LONGEST_VARIABLE:
            return Refused("value_refused", f"value: a variable has at most {LONGEST_VARIABLE} characters")
        return Prepared(target_id, kind, stored, value, None)
    if why := why_not_masked(value.encode()):
        return Refused("value_refused", f"value: it is {why.replace('_', ' ')} to be masked in logs")
    return Prepared(target_id, kind, stored, "", sealer.seal(value.encode(), _associated(target_id, stored)))


def put(connection: Connection, prepared: Prepared, now: int) -> ValueView | Refused:
    """Store a value, in place of an earlier one of its name."""
    target_id, kind, name = prepared.target_id, prepared.kind, prepared.name
    counted = _COUNT.row(connection, target_id=target_id, kind=kind, name=name)
    if counted is not None and counted[0] >= MOST:
        return Refused("value_refused", f"name: a repository has at most {MOST} of these")
    _SET.run(
        connection, target_id=target_id, kind=kind, name=name, value=prepared.value, sealed=prepared.sealed, now=now
    )
    return ValueView(name, now, prepared.value)


def list_all(connection: Connection, target: str, kind: Kind) -> list[ValueView] | Refused:
    """Return the values of a repository, of its secrets only the names."""
    found = targets.view(connection, target)
    if isinstance(found, Refused):
        return found
    return [ValueView(*row) for row in _LIST.rows(connection, target_id=found.id, kind=kind)]


def delete(connection: Connection, target: str, kind: Kind, name: str) -> Refused | None:
    """Delete a value."""
    found = targets.view(connection, target)
    if isinstance(found, Refused):
        return found
    if not _DELETE.run(connection, target_id=found.id, kind=kind, name=name.upper()):
        return Refused("not_found", f"the repository {found.name!r} has no {kind} {name!r}")
    return None


def variables(connection: Connection, target_id: str) -> dict[str, str]:
    """Return the variables of a repository."""
    return {row[0]: row[2] for row in _LIST.rows(connection, target_id=target_id, kind="variable")}


def sealed_secrets(connection: Connection, target_id: str) -> dict[str, bytes]:
    """Return the secrets of a repository as they are stored."""
    return {row[0]: row[1] for row in _SEALED.rows(connection, target_id=target_id)}


def open_secrets(target_id: str, sealed: dict[str, bytes], names: Collection[str], sealer: Sealer) -> dict[str, str]:
    """Return the values of those of these secrets that are named; none is opened that nobody asked for."""
    wanted = {name.upper() for name in names}
    return {
        name: sealer.open(value, _associated(target_id, name)).decode()
        for name, value in sealed.items()
        if name in wanted
    }


def _associated(target_id: str, name: str) -> bytes:
    return f"target:{target_id}:value:{name}".encode()
