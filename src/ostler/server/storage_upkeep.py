"""Artifacts, caches and stored actions that have had their time: taken away, then deleted with their bytes.

What is to go is marked first, so that nobody begins to read it; then its blobs are deleted, and its row last. Whatever
fails in between is done by the next round.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection

from ostler.blobs import Blobs, delete_below
from ostler.domain.storage import DAY_MICROS, StorageRules
from ostler.effects import Effects
from ostler.server.calls.actions import BLOB_PREFIX
from ostler.server.loops import Loop
from ostler.store import artifacts, caches, stored_actions
from ostler.store.database import Database

_SECONDS = 60.0
_AT_ONCE: Final = 200


class _Kept(NamedTuple):
    prefix: str
    gone: Callable[[Connection, int], list[str]]
    forget: Callable[[Connection, list[str]], None]


_KINDS: Final[Sequence[_Kept]] = (
    _Kept(artifacts.UPLOADS.name, artifacts.UPLOADS.gone, artifacts.UPLOADS.forget),
    _Kept(caches.UPLOADS.name, caches.UPLOADS.gone, caches.UPLOADS.forget),
    _Kept(BLOB_PREFIX, stored_actions.gone, stored_actions.forget),
)


class StorageUpkeep:
    """See the module."""

    def __init__(self, database: Database, blobs: Blobs, effects: Effects, rules: StorageRules) -> None:
        self._database = database
        self._blobs = blobs
        self._effects = effects
        self._rules = rules

    def loops(self) -> list[Loop]:
        """The background loops of storage."""
        return [Loop("storage", _SECONDS, self.keep)]

    async def keep(self) -> bool:
        """Do one round."""
        now = self._effects.clock.now()
        marked = await self._database.run(_mark, now, now - self._rules.cache_days * DAY_MICROS)
        more = marked >= _AT_ONCE
        for kind in _KINDS:
            ids = await self._database.read(kind.gone, _AT_ONCE)
            for each in ids:
                await delete_below(self._blobs, f"{kind.prefix}/{each}")
            if ids:
                await self._database.run(kind.forget, ids)
            more = more or len(ids) >= _AT_ONCE
        return more


def _mark(connection: Connection, now: int, unused_since: int) -> int:
    return max(
        artifacts.UPLOADS.abandon(connection, _AT_ONCE),
        caches.UPLOADS.abandon(connection, _AT_ONCE),
        artifacts.expire(connection, now, _AT_ONCE),
        caches.expire(connection, unused_since, _AT_ONCE).entries,
        caches.forget_orphans(connection, _AT_ONCE),
    )
