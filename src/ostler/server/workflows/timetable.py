"""Workflows that run by themselves: what is due becomes a happening, once, whichever replica looks.

One replica at a time does this by its lease; should two of them do it all the same, the line of the schedule is moved
on in the transaction that stores the happening, on condition that nobody moved it before.
"""

from typing import Final

import structlog
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.store import schedules, triggers
from ostler.store.database import Database
from ostler.store.schedules import Due
from ostler.store.triggers import Occurrence, Trigger
from ostler.workflow import schedule
from ostler.workflow.model import Schedule

log = structlog.get_logger("ostler.server")

NEVER: Final = 2**62
"""The next time of a line that is never due again."""
_AT_ONCE: Final = 100
_ACTOR: Final = "schedule"


class Timetable:
    """See the module."""

    def __init__(self, database: Database, effects: Effects) -> None:
        self._database = database
        self._effects = effects

    async def round(self) -> bool:
        """Start what is due."""
        now = self._effects.clock.now()
        lines = await self._database.read(schedules.due, now, limit=_AT_ONCE)
        for line in lines:
            trigger_id = self._effects.ids.new("trg")
            if await self._database.run(_fire, line, trigger_id, now):
                log.info("schedule_fired", workflow_id=line.workflow_id, cron=line.cron, timezone=line.timezone)
        return len(lines) >= _AT_ONCE


def lines_of(target_id: str, workflow_id: str, wanted: tuple[Schedule, ...], now: int) -> list[Due]:
    """Return the lines of a workflow's schedule, each with the first time that it is due."""
    lines: list[Due] = []
    for each in wanted:
        first = schedule.next_fire(each.cron, each.timezone, now)
        if isinstance(first, int):
            lines.append(
                Due(
                    workflow_id=workflow_id,
                    cron=each.cron,
                    timezone=each.timezone,
                    target_id=target_id,
                    next_at=first,
                )
            )
    return lines


def _fire(connection: Connection, line: Due, trigger_id: str, now: int) -> bool:
    verdict = schedule.due(line.cron, line.timezone, line.next_at, now)
    if isinstance(verdict, Refused):
        schedules.move_on(connection, line, NEVER, now, 0)
        return False
    fires = verdict.fires_for is not None
    next_at = NEVER if verdict.next_at is None else verdict.next_at
    if not schedules.move_on(connection, line, next_at, now if fires else line.last_at or 0, verdict.missed):
        return False
    if fires:
        occurrence = Occurrence(event="schedule", schedule=line.cron, payload={"schedule": line.cron})
        trigger = Trigger(
            id=trigger_id,
            target_id=line.target_id,
            source="schedule",
            actor=_ACTOR,
            occurrence=occurrence,
            workflow_id=line.workflow_id,
        )
        triggers.add(connection, (trigger,), now)
    return fires
