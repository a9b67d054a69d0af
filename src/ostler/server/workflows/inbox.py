"""The loop over the inbox: what happened becomes runs, at once or, where git or the forge is away, later."""

from typing import Final

import structlog

from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.server.workflows.starting import Started, Starter
from ostler.server.workflows.syncing import Syncer
from ostler.store import triggers
from ostler.store.database import Database
from ostler.store.triggers import Trigger

log = structlog.get_logger("ostler.server")

_FIRST_PAUSE_MICROS: Final = 5_000_000
_MOST_TRIES: Final = 8
_AT_ONCE: Final = 20
_PASSING: Final = frozenset({"fetch_failed"})
"""What may be otherwise in a while."""


class Inbox:
    """See the module."""

    def __init__(self, database: Database, starter: Starter, syncer: Syncer, effects: Effects) -> None:
        self._database = database
        self._starter = starter
        self._syncer = syncer
        self._effects = effects

    async def round(self) -> bool:
        """Answer what is due."""
        taken = await self._database.run(triggers.take, self._effects.clock.now(), limit=_AT_ONCE)
        for trigger in taken:
            try:
                await self._answer(trigger)
            except Exception:
                log.exception("trigger_failed", trigger_id=trigger.id, tries=trigger.tries)
        return len(taken) >= _AT_ONCE

    async def _answer(self, trigger: Trigger) -> None:
        if trigger.occurrence.event == "push":
            await self._syncer.after_push(trigger)
        outcome = await self._starter.start(trigger)
        if isinstance(outcome, Refused):
            await self._put_off(trigger, outcome)

    async def _put_off(self, trigger: Trigger, why: Refused) -> None:
        if why.code not in _PASSING or trigger.tries >= _MOST_TRIES:
            await self._database.run(triggers.done, trigger.id, f"{why.reason} ({why.code})")
            return
        due_at = self._effects.clock.now() + _FIRST_PAUSE_MICROS * 2 ** (trigger.tries - 1)
        await self._database.run(triggers.later, trigger.id, f"{why.reason}; tried again later", due_at)

    async def now(self, trigger: Trigger) -> Started | Refused:
        """Store a happening and answer it at once, for somebody who waits for what follows."""
        held_until = self._effects.clock.now() + _FIRST_PAUSE_MICROS * 12
        now = self._effects.clock.now()
        await self._database.run(triggers.add, (trigger,), now, due_at=held_until)
        outcome = await self._starter.start(trigger)
        if isinstance(outcome, Refused):
            await self._database.run(triggers.done, trigger.id, f"{outcome.reason} ({outcome.code})")
        return outcome
