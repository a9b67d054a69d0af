"""What a runner reports while a job runs: steps and log frames."""

from ostler.effects import Effects
from ostler.protocol.endpoint import Binary
from ostler.protocol.problem import problem
from ostler.protocol.v1.runner_messages import EventsReply, EventsRequest, LogReply
from ostler.protocol.v1.table import APPEND_LOG, EVENTS
from ostler.server.call import Call, Handlers, Refusal, accepted
from ostler.server.log_store import LogStore
from ostler.store import events
from ostler.store.database import Database
from ostler.store.logs import OffsetExpected


class ReportCalls:
    """See the module."""

    def __init__(self, database: Database, log_store: LogStore, effects: Effects) -> None:
        self._database = database
        self._log_store = log_store
        self._effects = effects

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {EVENTS: self.events, APPEND_LOG: self.append_log}

    async def events(self, call: Call[EventsRequest]) -> EventsReply:
        """Store what is new of the reports."""
        now = self._effects.clock.now()
        recorded = accepted(await self._database.run(events.record, call.runner.runner_id, call.body, now))
        return EventsReply(recorded.stored, recorded.directive)

    async def append_log(self, call: Call[Binary]) -> LogReply:
        """Store log frames at their offset."""
        query = call.query
        outcome = accepted(
            await self._log_store.append(
                call.runner.runner_id, call.path["job_id"], query.fence, query.offset, call.body.data
            )
        )
        if isinstance(outcome, OffsetExpected):
            raise Refusal(
                problem("log_offset", f"the log is stored up to {outcome.expected}", expected=outcome.expected)
            )
        return LogReply(outcome.length, outcome.directive)
