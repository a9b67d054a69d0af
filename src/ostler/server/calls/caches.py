"""Caches: filled and read by jobs, listed and pruned by people."""

from ostler.blobs import Blobs
from ostler.domain.storage import DAY_MICROS, StorageRules
from ostler.effects import Effects
from ostler.protocol.endpoint import Nothing
from ostler.protocol.v1.artifact_messages import FinishUploadRequest, PartReply, UploadReply
from ostler.protocol.v1.cache_messages import (
    CacheHit,
    CachesReply,
    FindCacheReply,
    FindCacheRequest,
    PruneCachesReply,
    PruneCachesRequest,
    ReserveCacheRequest,
)
from ostler.protocol.v1.cache_table import (
    DELETE_CACHE,
    FIND_CACHE,
    FINISH_CACHE,
    LIST_CACHES,
    PRUNE_CACHES,
    PUT_CACHE,
    READ_CACHE,
    RESERVE_CACHE,
)
from ostler.server.body import BodyStream
from ostler.server.call import Call, Handlers, Streaming, accepted
from ostler.server.downloads import Stored, download
from ostler.server.uploads import Upload, Uploads
from ostler.store import caches
from ostler.store.database import Database

_AT_ONCE = 500


class CacheCalls:
    """See the module."""

    def __init__(
        self, database: Database, blobs: Blobs, uploads: Uploads, effects: Effects, rules: StorageRules
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._uploads = uploads
        self._effects = effects
        self._rules = rules

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {
            FIND_CACHE: self.find,
            RESERVE_CACHE: self.reserve,
            PUT_CACHE: self.put,
            FINISH_CACHE: self.finish,
            READ_CACHE: self.read,
            LIST_CACHES: self.list_entries,
            DELETE_CACHE: self.delete,
            PRUNE_CACHES: self.prune,
        }

    async def find(self, call: Call[FindCacheRequest]) -> FindCacheReply:
        """Find the entry to restore."""
        now = self._effects.clock.now()
        return FindCacheReply(accepted(await self._database.run(caches.find, call.job, call.body, now)))

    async def reserve(self, call: Call[ReserveCacheRequest]) -> UploadReply:
        """Begin an entry."""
        drawn, now = self._effects.ids.new("cache"), self._effects.clock.now()
        body = call.body
        reserved = await self._database.run(caches.reserve, call.job, drawn, body.key, body.version, now)
        return UploadReply(accepted(reserved), self._rules.caches_bytes)

    async def put(self, call: Call[BodyStream]) -> PartReply:
        """Store bytes of an entry."""
        return await self._uploads.receive(self._upload(call), call.query.offset, call.body)

    async def finish(self, call: Call[FinishUploadRequest]) -> CacheHit:
        """Make an entry readable, and make room for it."""
        job, cache_id, now = call.job, call.path["cache_id"], self._effects.clock.now()
        return await self._uploads.finish(
            self._upload(call),
            call.body,
            lambda connection: caches.settle(connection, job, cache_id, self._rules, now),
        )

    async def read(self, call: Call[Nothing]) -> Streaming:
        """Send an entry."""
        entry = accepted(await self._database.read(caches.open_entry, call.job, call.path["cache_id"]))
        stored = Stored(entry.blob_key, entry.hit.size, entry.hit.digest, entry.hit.id)
        return await download(self._blobs, stored, call.headers)

    async def list_entries(self, call: Call[Nothing]) -> CachesReply:
        """List entries."""
        return accepted(await self._database.read(caches.list_for_people, call.query))

    async def delete(self, call: Call[Nothing]) -> None:
        """Delete an entry."""
        accepted(await self._database.run(caches.delete, call.path["cache_id"]))

    async def prune(self, call: Call[PruneCachesRequest]) -> PruneCachesReply:
        """Delete what nobody needs, by the rules that were given or by the server's."""
        body, rules = call.body, self._rules
        own = body.unused_ms is None and body.keep_bytes is None
        now = self._effects.clock.now()
        unused = rules.cache_days * DAY_MICROS if own else None if body.unused_ms is None else body.unused_ms * 1000
        before = -1 if unused is None else now - unused
        keep = rules.caches_bytes if body.keep_bytes is None else body.keep_bytes
        pruned = accepted(await self._database.run(caches.prune, body.repository, before, keep, _AT_ONCE))
        return PruneCachesReply(pruned.entries, pruned.bytes)

    def _upload(self, call: Call[BodyStream] | Call[FinishUploadRequest]) -> Upload:
        return Upload(caches.UPLOADS, call.path["cache_id"], call.job, caches.limits(self._rules))
