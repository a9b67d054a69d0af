"""Repositories: where their workflows are, how git and the forge are reached, and which pool their jobs go to.

Passwords, tokens and the secret of the webhook are sealed for their row and column; they leave only through `access`.
"""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

from collections.abc import Mapping
from typing import Final

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.domain.repository import (
    Forge,
    checked_folder,
    checked_reference,
    checked_repository_name,
    full_name,
    place,
)
from ostler.protocol.v1.repository_messages import CreateRepositoryRequest, RepositoryView, UpdateRepositoryRequest
from ostler.store import pools
from ostler.store.database import hint
from ostler.store.sealing import Sealer
from ostler.store.sql import Fields, Sql, Value

SEALED: Final = ("password", "forge_token", "webhook_secret")
_PLAIN: Final = ("clone_url", "default_branch", "workflows_path", "forge", "forge_url", "pool", "username")
_COLUMNS = (
    "id, name, clone_url, default_branch, workflows_path, forge, forge_url, pool, username, disabled, synced_at,"
    " synced_sha, fault, created_at, sealed_password, sealed_webhook_secret, sealed_forge_token"
)
_GET = Sql(f"SELECT {_COLUMNS} FROM targets WHERE id = :target OR name = :target ORDER BY id = :target DESC LIMIT 1")
_LOCK = Sql(
    f"SELECT {_COLUMNS} FROM targets WHERE id = :target OR name = :target ORDER BY id = :target DESC LIMIT 1 [lock]"
)
_ALL = Sql(f"SELECT {_COLUMNS} FROM targets WHERE kind = 'repository' ORDER BY name")
_INSERT = Sql(
    "INSERT INTO targets (id, organization_id, kind, name, clone_url, default_branch, workflows_path, forge, forge_url,"
    " pool, username, sealed_password, sealed_webhook_secret, sealed_forge_token, disabled, synced_at, synced_sha,"
    " fault, created_at) VALUES (:id, :organization, 'repository', :name, :clone_url, :default_branch, :workflows_path,"
    " :forge, :forge_url, :pool, :username, :password, :webhook_secret, :forge_token, 0, NULL, '', '', :now)"
    " ON CONFLICT DO NOTHING"
)
_UPDATE = Sql(
    "UPDATE targets SET clone_url = :clone_url, default_branch = :default_branch, workflows_path = :workflows_path,"
    " forge = :forge, forge_url = :forge_url, pool = :pool, username = :username, sealed_password = :password,"
    " sealed_webhook_secret = :webhook_secret, sealed_forge_token = :forge_token, disabled = :disabled WHERE id = :id"
)
_SYNCED = Sql(
    "UPDATE targets SET synced_at = :now, synced_sha = :sha, fault = :fault,"
    " default_branch = CASE WHEN default_branch = '' THEN :branch ELSE default_branch END WHERE id = :id"
)
_OPEN_RUN = Sql("SELECT 1 FROM workflow_runs WHERE target_id = :id AND ended_at IS NULL LIMIT 1")
_OWNED = ("target_values", "workflows", "deliveries", "triggers", "concurrency_groups", "schedules", "forge_statuses")
_FORGET = (
    *(Sql(f"DELETE FROM {table} WHERE target_id = :id") for table in _OWNED),
    Sql("DELETE FROM targets WHERE id = :id"),
)


class Secrets(msgspec.Struct, frozen=True, kw_only=True):
    """The sealed values of a row, as they are stored."""

    password: bytes | None = None
    webhook_secret: bytes | None = None
    forge_token: bytes | None = None


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository with what only the server may see."""

    view: RepositoryView
    sealed: Secrets

    def opened(self, name: str, sealer: Sealer) -> str:
        """Return one of its secrets; empty if there is none."""
        sealed: bytes | None = getattr(self.sealed, name)
        return "" if sealed is None else sealer.open(sealed, _associated(self.view.id, name)).decode()


def seal(target_id: str, values: Mapping[str, str], sealer: Sealer) -> Secrets:
    """Seal what is given of the secrets, outside of any transaction."""
    return Secrets(
        **{
            name: sealer.seal(value.encode(), _associated(target_id, name))
            for name in SEALED
            if (value := values.get(name, ""))
        }
    )


def create(
    connection: Connection, target_id: str, request: CreateRepositoryRequest, secrets: Secrets, now: int
) -> RepositoryView | Refused:
    """Connect a repository under a new id."""
    name = checked_repository_name(request.name)
    if isinstance(name, Refused):
        return name
    checked = _checked({field: getattr(request, field) for field in _PLAIN}, connection)
    if isinstance(checked, Refused):
        return checked
    sealed = msgspec.structs.asdict(secrets)
    written = _INSERT.run(
        connection, id=target_id, organization=pools.ORGANIZATION, name=name, now=now, **checked, **sealed
    )
    if not written:
        return Refused("name_taken", f"a repository named {name!r} exists already")
    hint(connection, "targets")
    return view(connection, target_id)


def update(
    connection: Connection, target: str, request: UpdateRepositoryRequest, secrets: Secrets
) -> RepositoryView | Refused:
    """Change what the request names; a secret that it names without a value is taken away."""
    row = _LOCK.row(connection, target=target)
    if row is None:
        return unknown(target)
    before = _repository(row)
    given = {field: getattr(request, field) for field in _PLAIN}
    kept = {field: getattr(before.view, field) if value is None else value for field, value in given.items()}
    checked = _checked(kept, connection)
    if isinstance(checked, Refused):
        return checked
    sealed = {name: getattr(before.sealed if getattr(request, name) is None else secrets, name) for name in SEALED}
    disabled = before.view.disabled if request.disabled is None else request.disabled
    _UPDATE.run(connection, id=before.view.id, disabled=int(disabled), **checked, **sealed)
    hint(connection, "targets")
    return view(connection, before.view.id)


def delete(connection: Connection, target: str) -> Refused | None:
    """Disconnect a repository whose runs have all ended; they stay, everything else of it goes."""
    row = _LOCK.row(connection, target=target)
    if row is None:
        return unknown(target)
    if _OPEN_RUN.row(connection, id=row[0]) is not None:
        return Refused("repository_in_use", f"runs of the repository {row[1]!r} have not ended")
    for statement in _FORGET:
        statement.run(connection, id=row[0])
    hint(connection, "targets")
    return None


def get(connection: Connection, target: str) -> Repository | Refused:
    """Return a repository by its id or name."""
    row = _GET.row(connection, target=target)
    return unknown(target) if row is None else _repository(row)


def view(connection: Connection, target: str) -> RepositoryView | Refused:
    """Return a repository as people may see it."""
    found = get(connection, target)
    return found if isinstance(found, Refused) else found.view


def list_all(connection: Connection) -> list[RepositoryView]:
    """Return all repositories by name."""
    return [_repository(row).view for row in _ALL.rows(connection)]


def synced(connection: Connection, target_id: str, *, sha: str, branch: str, fault: str, now: int) -> None:
    """Note how reading the repository went; the remote's default branch counts where none was given."""
    _SYNCED.run(connection, id=target_id, sha=sha, branch=branch, fault=fault[:2000], now=now)
    hint(connection, "targets")


def unknown(target: str) -> Refused:
    """Say that there is no such repository."""
    return Refused("not_found", f"there is no repository {target!r}")


def _checked(values: dict[str, str], connection: Connection) -> dict[str, Value] | Refused:
    where = place(values["clone_url"])
    if isinstance(where, Refused):
        return where
    if values["default_branch"]:
        branch = checked_reference(values["default_branch"])
        if isinstance(branch, Refused):
            return branch
    folder = checked_folder(values["workflows_path"])
    if isinstance(folder, Refused):
        return folder
    forge_url = values["forge_url"].rstrip("/")
    if forge_url and not forge_url.startswith(("http://", "https://")):
        return Refused("value_refused", "forge_url: the address of the forge's API begins with https:// or http://")
    if values["pool"]:
        pool = pools.resolve(connection, (values["pool"],))[values["pool"]]
        if isinstance(pool, Refused):
            return pool
    return {**values, "workflows_path": folder, "forge_url": forge_url}


def _associated(target_id: str, name: str) -> bytes:
    return f"target:{target_id}:{name}".encode()


def _repository(row: Fields) -> Repository:
    (target_id, name, clone_url, branch, path, forge, forge_url, pool, username, disabled) = row[:10]
    synced_at, synced_sha, fault, created_at, password, webhook_secret, forge_token = row[10:]
    forge_kind: Forge = forge
    return Repository(
        view=RepositoryView(
            id=target_id,
            name=name,
            full_name=full_name(clone_url),
            clone_url=clone_url,
            default_branch=branch,
            workflows_path=path,
            forge=forge_kind,
            forge_url=forge_url,
            pool=pool,
            username=username,
            has_password=password is not None,
            has_forge_token=forge_token is not None,
            disabled=bool(disabled),
            synced_at=synced_at,
            synced_sha=synced_sha,
            fault=fault,
            created_at=created_at,
        ),
        sealed=Secrets(password=password, webhook_secret=webhook_secret, forge_token=forge_token),
    )
