"""Repositories, their secrets and variables, for people's clients."""

import msgspec

from ostler.effects import Effects
from ostler.protocol.endpoint import Nothing
from ostler.protocol.v1.repository_messages import (
    CreateRepositoryRequest,
    HookReply,
    RepositoriesReply,
    RepositoryView,
    SetValueRequest,
    UpdateRepositoryRequest,
    ValuesReply,
    ValueView,
)
from ostler.protocol.v1.repository_table import (
    CREATE_REPOSITORY,
    DELETE_REPOSITORY,
    DELETE_SECRET,
    DELETE_VARIABLE,
    GET_REPOSITORY,
    LIST_REPOSITORIES,
    LIST_SECRETS,
    LIST_VARIABLES,
    REPOSITORY_HOOK,
    SET_SECRET,
    SET_VARIABLE,
    UPDATE_REPOSITORY,
)
from ostler.server.call import Call, Handlers, accepted
from ostler.store import target_values, targets
from ostler.store.database import Database
from ostler.store.sealing import Sealer
from ostler.store.target_values import Kind


class RepositoryCalls:
    """See the module."""

    def __init__(self, database: Database, sealer: Sealer, effects: Effects, url: str) -> None:
        self._database = database
        self._sealer = sealer
        self._effects = effects
        self._url = url

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {
            LIST_REPOSITORIES: self.list_repositories,
            CREATE_REPOSITORY: self.create,
            GET_REPOSITORY: self.get,
            UPDATE_REPOSITORY: self.update,
            DELETE_REPOSITORY: self.delete,
            REPOSITORY_HOOK: self.hook,
            LIST_SECRETS: self.list_secrets,
            SET_SECRET: self.set_secret,
            DELETE_SECRET: self.delete_secret,
            LIST_VARIABLES: self.list_variables,
            SET_VARIABLE: self.set_variable,
            DELETE_VARIABLE: self.delete_variable,
        }

    async def list_repositories(self, call: Call[Nothing]) -> RepositoriesReply:
        """All repositories."""
        del call
        return RepositoriesReply(await self._database.read(targets.list_all))

    async def get(self, call: Call[Nothing]) -> RepositoryView:
        """One repository."""
        return accepted(await self._database.read(targets.view, call.path["repository"]))

    async def create(self, call: Call[CreateRepositoryRequest]) -> RepositoryView:
        """Connect a repository; it gets a webhook secret if none was chosen."""
        target_id = self._effects.ids.new("repo")
        drawn = {"webhook_secret": call.body.webhook_secret or self._effects.random.token()}
        secrets = targets.seal(target_id, {**_secrets(call.body), **drawn}, self._sealer)
        now = self._effects.clock.now()
        return accepted(await self._database.run(targets.create, target_id, call.body, secrets, now))

    async def update(self, call: Call[UpdateRepositoryRequest]) -> RepositoryView:
        """Changes to a repository."""
        found = accepted(await self._database.read(targets.view, call.path["repository"]))
        secrets = targets.seal(found.id, _secrets(call.body), self._sealer)
        return accepted(await self._database.run(targets.update, found.id, call.body, secrets))

    async def delete(self, call: Call[Nothing]) -> None:
        """Disconnect a repository."""
        accepted(await self._database.run(targets.delete, call.path["repository"]))

    async def hook(self, call: Call[Nothing]) -> HookReply:
        """What the forge is to be told."""
        found = accepted(await self._database.read(targets.get, call.path["repository"]))
        secret = found.opened("webhook_secret", self._sealer)
        return HookReply(f"{self._url}/api/v1/repositories/{found.view.id}/webhook", secret, found.view.forge)

    async def list_secrets(self, call: Call[Nothing]) -> ValuesReply:
        """The names of the secrets."""
        return await self._values(call, "secret")

    async def list_variables(self, call: Call[Nothing]) -> ValuesReply:
        """The variables."""
        return await self._values(call, "variable")

    async def set_secret(self, call: Call[SetValueRequest]) -> ValueView:
        """A new value of a secret."""
        return await self._set(call, "secret")

    async def set_variable(self, call: Call[SetValueRequest]) -> ValueView:
        """A new value of a variable."""
        return await self._set(call, "variable")

    async def delete_secret(self, call: Call[Nothing]) -> None:
        """Delete a secret."""
        await self._delete(call, "secret")

    async def delete_variable(self, call: Call[Nothing]) -> None:
        """Delete a variable."""
        await self._delete(call, "variable")

    async def _values(self, call: Call[Nothing], kind: Kind) -> ValuesReply:
        return ValuesReply(accepted(await self._database.read(target_values.list_all, call.path["repository"], kind)))

    async def _set(self, call: Call[SetValueRequest], kind: Kind) -> ValueView:
        found = accepted(await self._database.read(targets.view, call.path["repository"]))
        prepared = accepted(target_values.prepare(found.id, kind, call.path["name"], call.body.value, self._sealer))
        return accepted(await self._database.run(target_values.put, prepared, self._effects.clock.now()))

    async def _delete(self, call: Call[Nothing], kind: Kind) -> None:
        path = call.path
        accepted(await self._database.run(target_values.delete, path["repository"], kind, path["name"]))


def _secrets(request: msgspec.Struct) -> dict[str, str]:
    return {name: getattr(request, name) or "" for name in targets.SEALED}
