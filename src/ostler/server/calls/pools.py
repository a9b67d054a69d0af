"""Pools, for people's clients."""

from ostler.effects import Effects
from ostler.protocol.endpoint import Nothing
from ostler.protocol.v1.fleet_messages import CreatePoolRequest, PoolsReply, PoolView, UpdatePoolRequest
from ostler.protocol.v1.table import CREATE_POOL, DELETE_POOL, GET_POOL, LIST_POOLS, UPDATE_POOL
from ostler.server.call import Call, Handlers, accepted
from ostler.store import pools
from ostler.store.database import Database


class PoolCalls:
    """See the module."""

    def __init__(self, database: Database, effects: Effects) -> None:
        self._database = database
        self._effects = effects

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {
            LIST_POOLS: self.list_pools,
            CREATE_POOL: self.create,
            GET_POOL: self.get,
            UPDATE_POOL: self.update,
            DELETE_POOL: self.delete,
        }

    async def list_pools(self, call: Call[Nothing]) -> PoolsReply:
        """All pools."""
        del call
        return PoolsReply(await self._database.read(pools.list_all))

    async def get(self, call: Call[Nothing]) -> PoolView:
        """One pool."""
        return accepted(await self._database.read(pools.get, call.path["pool"]))

    async def create(self, call: Call[CreatePoolRequest]) -> PoolView:
        """A new pool."""
        pool_id = self._effects.ids.new("pool")
        return accepted(await self._database.run(pools.create, pool_id, call.body, self._effects.clock.now()))

    async def update(self, call: Call[UpdatePoolRequest]) -> PoolView:
        """Changes to a pool."""
        return accepted(await self._database.run(pools.update, call.path["pool"], call.body))

    async def delete(self, call: Call[Nothing]) -> None:
        """Delete a pool."""
        accepted(await self._database.run(pools.delete, call.path["pool"], self._effects.clock.now()))
