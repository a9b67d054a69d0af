"""Runners, for people's clients, and claims made on behalf of one."""

from typing import Final

from ostler.effects import Effects
from ostler.protocol.endpoint import Nothing
from ostler.protocol.v1.fleet_messages import AdmissionRequest, AssignJobRequest, RunnersReply, RunnerView
from ostler.protocol.v1.runner_messages import ClaimReply, FinishReply, FinishRequest
from ostler.protocol.v1.simple_table import SIMPLE_ASSIGN_JOB, SIMPLE_COMPLETE_JOB, SIMPLE_LIST_RUNNERS
from ostler.protocol.v1.table import ADMIT_RUNNER, GET_RUNNER, LIST_RUNNERS
from ostler.scheduling.demand import matching
from ostler.server.call import Call, Handlers, accepted
from ostler.server.calls.session import require_own
from ostler.server.calls.work import WorkCalls
from ostler.store import admissions, claims, demands, jobs, runners
from ostler.store.claims import Want
from ostler.store.database import Database

_ASSIGNED: Final = "assigned"


class RunnerCalls:
    """See the module."""

    def __init__(self, database: Database, work: WorkCalls, effects: Effects) -> None:
        self._database = database
        self._work = work
        self._effects = effects

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {
            LIST_RUNNERS: self.list_runners,
            SIMPLE_LIST_RUNNERS: self.list_runners,
            GET_RUNNER: self.get,
            ADMIT_RUNNER: self.admit,
            SIMPLE_ASSIGN_JOB: self.assign,
            SIMPLE_COMPLETE_JOB: self.complete,
        }

    async def list_runners(self, call: Call[Nothing]) -> RunnersReply:
        """A page of runners."""
        return await self._database.read(runners.list_page, call.query)

    async def get(self, call: Call[Nothing]) -> RunnerView:
        """One runner."""
        return accepted(await self._database.read(runners.get, call.path["runner"]))

    async def admit(self, call: Call[AdmissionRequest]) -> RunnerView:
        """Carry out a decision about a runner."""
        now = self._effects.clock.now()
        return accepted(await self._database.run(admissions.admit, call.path["runner"], call.body, now))

    async def assign(self, call: Call[AssignJobRequest]) -> ClaimReply:
        """Claim a job for a runner; the runner learns of it by its open poll."""
        runner = accepted(await self._database.read(runners.get, call.path["runner_id"]))
        job = accepted(await self._database.read(jobs.get, call.body.job_id))
        facts = await self._database.read(runners.facts, runner_id=runner.id)
        classes = await self._database.read(demands.all_classes)
        want = Want(
            runner_id=runner.id,
            slot=job.kind.slot,
            key=self._effects.ids.new(_ASSIGNED),
            demand_ids=matching(facts[0], classes, job.kind.slot),
        )
        now = self._effects.clock.now()
        claimed = accepted(await self._database.run(claims.claim_one, want, job.id, now))
        return ClaimReply(claims=[self._work.bare_claim(claimed)])

    async def complete(self, call: Call[FinishRequest]) -> FinishReply:
        """Record a result, for clients that name themselves in the address."""
        require_own(call)
        return await self._work.finish(call)
