"""Runs and jobs, for people's clients."""

from collections.abc import Sequence

from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.protocol.endpoint import Nothing
from ostler.protocol.v1.run_messages import (
    CancelRequest,
    JobView,
    QueueReply,
    RunsReply,
    RunView,
    SubmitManyReply,
    SubmitManyRequest,
    SubmitRequest,
)
from ostler.protocol.v1.table import CANCEL_RUN, GET_JOB, GET_RUN, LIST_RUNS, QUEUE, SUBMIT, SUBMIT_MANY
from ostler.server.call import Call, Handlers, accepted
from ostler.store import jobs, queue, runs, submissions
from ostler.store.database import Database
from ostler.store.gathering import Gathering
from ostler.store.sealing import Sealer
from ostler.store.submissions import Submission, Submitted


class RunCalls:
    """See the module."""

    def __init__(self, database: Database, sealer: Sealer, effects: Effects) -> None:
        self._database = database
        self._sealer = sealer
        self._effects = effects
        self._submissions: Gathering[Submission, Submitted | Refused] = Gathering(
            database, submissions.submit_each, effects.clock.now
        )
        self._shown: Gathering[str, RunView | Refused] = Gathering(database, _shown, effects.clock.now, reading=True)

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {
            SUBMIT: self.submit,
            SUBMIT_MANY: self.submit_many,
            LIST_RUNS: self.list_runs,
            GET_RUN: self.get_run,
            CANCEL_RUN: self.cancel,
            GET_JOB: self.get_job,
            QUEUE: self.queue,
        }

    async def submit(self, call: Call[SubmitRequest]) -> RunView:
        """Store a run."""
        submission = accepted(
            submissions.prepare(call.body, self._effects.ids, self._sealer, submitted_by=call.user.name)
        )
        submitted = accepted(await self._submissions.ask(submission))
        return accepted(await self._shown.ask(submitted.run_id))

    async def submit_many(self, call: Call[SubmitManyRequest]) -> SubmitManyReply:
        """Store many runs, all of them or none."""
        prepared: list[Submission] = []
        for index, request in enumerate(call.body.runs):
            submission = submissions.prepare(request, self._effects.ids, self._sealer, submitted_by=call.user.name)
            if isinstance(submission, Refused):
                accepted(Refused(submission.code, f"run {index}: {submission.reason}"))
            else:
                prepared.append(submission)
        now = self._effects.clock.now()
        submitted = accepted(await self._database.run(submissions.submit_many, prepared, now))
        return SubmitManyReply([each.run_id for each in submitted])

    async def list_runs(self, call: Call[Nothing]) -> RunsReply:
        """A page of runs."""
        return await self._database.read(runs.list_page, call.query)

    async def get_run(self, call: Call[Nothing]) -> RunView:
        """One run."""
        return accepted(await self._database.read(runs.get, call.path["run_id"]))

    async def cancel(self, call: Call[CancelRequest]) -> RunView:
        """Cancel a run."""
        reason = call.body.reason or f"cancelled by {call.user.name}"
        now = self._effects.clock.now()
        return accepted(await self._database.run(runs.cancel, call.path["run_id"], reason, now))

    async def get_job(self, call: Call[Nothing]) -> JobView:
        """One job."""
        return accepted(await self._database.read(jobs.get, call.path["job_id"]))

    async def queue(self, call: Call[Nothing]) -> QueueReply:
        """A page of the queue."""
        return accepted(await self._database.read(queue.list_page, call.query))


def _shown(connection: Connection, run_ids: Sequence[str], _now: int) -> list[RunView | Refused]:
    """Runs that were submitted at one moment wait for much the same reasons, which are read once for all of them."""
    return runs.get_many(connection, run_ids)
