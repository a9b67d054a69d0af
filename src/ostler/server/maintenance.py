"""What the background loops do in one round each."""

from collections.abc import Sequence
from typing import Final

import structlog
from sqlalchemy import Connection

from ostler.blobs import Blobs
from ostler.domain.job import Effect
from ostler.domain.runner import RunnerStatus
from ostler.effects import Effects
from ostler.server.log_store import LogStore
from ostler.server.loops import Loop
from ostler.server.metrics import Metrics
from ostler.store import (
    admissions,
    demands,
    enrolment,
    leadership,
    leases,
    logs,
    outbox,
    queue,
    runners,
    runs,
    sign_in,
    submissions,
    tokens,
    triggers,
)
from ostler.store.database import Database

log = structlog.get_logger("ostler.server")

SWEEP_SECONDS: Final = 2.0
_OUTBOX_SECONDS = 1.0
_HOUSEKEEPING_SECONDS = 300.0
_COUNTING_SECONDS = 15.0
_DAY_MICROS = 86_400_000_000
_KEYS_KEPT_MICROS = _DAY_MICROS
_TRIGGERS_KEPT_MICROS = 30 * _DAY_MICROS
_DELIVERIES_KEPT_MICROS = 90 * _DAY_MICROS
_AT_ONCE = 500


class StoreLeadership:
    """Exclusive rights to loops, as lease rows held in the name of this process."""

    def __init__(self, database: Database, effects: Effects) -> None:
        self._database = database
        self._effects = effects
        self._holder = effects.ids.new("srv")

    async def hold(self, loop: str, seconds: float) -> bool:
        """See ``loops.Leadership``."""
        lease, now = int(seconds * 1_000_000), self._effects.clock.now()
        return await self._database.run(leadership.acquire, f"loop/{loop}", self._holder, lease, now) is not None

    async def let_go(self, loop: str) -> None:
        """See ``loops.Leadership``."""
        await self._database.run(leadership.release, f"loop/{loop}", self._holder)


class Maintenance:
    """See the module."""

    def __init__(
        self,
        database: Database,
        blobs: Blobs,
        log_store: LogStore,
        effects: Effects,
        metrics: Metrics,
        *,
        retention_days: int,
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._log_store = log_store
        self._effects = effects
        self._metrics = metrics
        self._retention = retention_days * _DAY_MICROS

    def loops(self) -> list[Loop]:
        """All background loops of the control plane."""
        return [
            Loop("leases", SWEEP_SECONDS, self.sweep_leases),
            Loop("runners", SWEEP_SECONDS, self.sweep_runners),
            Loop("outbox", _OUTBOX_SECONDS, self.carry_out),
            Loop("housekeeping", _HOUSEKEEPING_SECONDS, self.keep_house),
            Loop("counting", _COUNTING_SECONDS, self.count, exclusive=False),
        ]

    async def sweep_leases(self) -> bool:
        """Requeue or give up attempts whose runner fell silent."""
        swept = await self._database.run(leases.sweep, self._effects.clock.now(), _AT_ONCE)
        ended = len(swept.requeued) + len(swept.lost)
        if ended:
            self._metrics.leases_lapsed.inc(ended)
            log.warning("leases_lapsed", requeued=list(swept.requeued), lost=list(swept.lost))
        return ended >= _AT_ONCE

    async def sweep_runners(self) -> bool:
        """Put silent runners offline, retire long silent ones, end pauses that are over."""
        now = self._effects.clock.now()
        await self._database.run(admissions.resume_due, now)
        swept = await self._database.run(runners.sweep, now)
        for runner_id in swept.silent:
            log.warning("runner_silent", runner_id=runner_id)
        return False

    async def carry_out(self) -> bool:
        """Do what commits left to be done."""
        entries = await self._database.run(outbox.take, self._effects.clock.now())
        done: list[str] = []
        for entry in entries:
            if entry.effect is Effect.SEAL_LOG:
                try:
                    await self._log_store.seal(entry.job_id, entry.fence)
                except Exception as error:  # noqa: BLE001 - it is handed out again; the others must not wait for it
                    log.warning("seal_failed", job_id=entry.job_id, tries=entry.tries, error=repr(error))
                    continue
            done.append(entry.id)
        if done:
            await self._database.run(outbox.done, done)
        return bool(done) and len(entries) == len(done)

    async def count(self) -> bool:
        """Note how much waits and who is there, for the metrics of this replica."""
        waiting, by_status = await self._database.read(_counted)
        self._metrics.queue_depth.set(waiting)
        for status in RunnerStatus:
            self._metrics.runners.labels(status.value).set(by_status.get(status.value, 0))
        return False

    async def keep_house(self) -> bool:
        """Forget what has served its time: expired credentials, old keys, runs and logs past their retention."""
        now = self._effects.clock.now()
        await self._database.run(_forget_expired, now)
        expired = await self._database.read(logs.expired, now - self._retention, _AT_ONCE)
        for segment in expired:
            await self._blobs.delete(segment.blob_key)
        if expired:
            await self._database.run(logs.forget, expired)
        # A run outlives the key of its submission, which names it.
        before = now - max(self._retention, _KEYS_KEPT_MICROS)
        forgotten = await self._database.run(runs.forget_ended, before, _AT_ONCE)
        return len(expired) >= _AT_ONCE or forgotten >= _AT_ONCE


def _counted(connection: Connection) -> tuple[int, dict[str, int]]:
    return queue.waiting_jobs(connection), runners.by_status(connection)


def _forget_expired(connection: Connection, now: int) -> Sequence[int]:
    return (
        sign_in.forget_expired(connection, now),
        tokens.forget_expired(connection, now - _DAY_MICROS),
        enrolment.forget_assertions(connection, now),
        submissions.forget_keys(connection, now - _KEYS_KEPT_MICROS),
        demands.forget_unused(connection, now - _DAY_MICROS),
        triggers.forget(connection, now - _TRIGGERS_KEPT_MICROS, now - _DELIVERIES_KEPT_MICROS),
    )
