"""Runs of workflows, for people's clients: what they are, approving them, running them again or elsewhere."""

from typing import cast

from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.protocol.endpoint import Nothing
from ostler.protocol.v1.program import Raw
from ostler.protocol.v1.run_messages import RunView
from ostler.protocol.v1.workflow_messages import ReproReply, RerunRequest, WorkflowRunView
from ostler.protocol.v1.workflow_table import APPROVE_RUN, GET_WORKFLOW_RUN, REPRO_JOB, RERUN_RUN
from ostler.server.call import Call, Handlers, accepted
from ostler.server.workflows.again import again
from ostler.store import runs, workflow_nodes, workflow_runs
from ostler.store.database import Database


class WorkflowRunCalls:
    """See the module."""

    def __init__(self, database: Database, effects: Effects) -> None:
        self._database = database
        self._effects = effects

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {
            GET_WORKFLOW_RUN: self.get,
            APPROVE_RUN: self.approve,
            RERUN_RUN: self.rerun,
            REPRO_JOB: self.repro,
        }

    async def get(self, call: Call[Nothing]) -> WorkflowRunView:
        """What a run is as a run of a workflow."""
        return accepted(await self._database.read(workflow_runs.view, call.path["run_id"]))

    async def approve(self, call: Call[Nothing]) -> WorkflowRunView:
        """Let a run begin."""
        run_id, now = call.path["run_id"], self._effects.clock.now()
        accepted(await self._database.run(workflow_runs.approve, run_id, call.user.name, now))
        return accepted(await self._database.read(workflow_runs.view, run_id))

    async def rerun(self, call: Call[RerunRequest]) -> RunView:
        """The next attempt of a run."""
        drawn, now = self._effects.ids.new("run"), self._effects.clock.now()
        run_id = accepted(await self._database.run(again, call.path["run_id"], drawn, call.body, call.user.name, now))
        return accepted(await self._database.read(runs.get, run_id))

    async def repro(self, call: Call[Nothing]) -> ReproReply:
        """What a job needs to be run elsewhere."""
        return accepted(await self._database.read(_repro, call.path["job_id"]))


def _repro(connection: Connection, job_id: str) -> ReproReply | Refused:
    found = workflow_nodes.node_of(connection, job_id)
    row = None if found is None else workflow_runs.get(connection, found[0])
    if found is None or row is None or row.state is None:
        return Refused("not_found", f"there is no job {job_id!r} of a workflow")
    plan = workflow_runs.plan(connection, row.run_id)
    node = row.state.nodes.get(found[1])
    github = plan.given.github
    event = github.get("event")
    return ReproReply(
        clone_url=plan.given.clone_url,
        sha=str(github.get("sha", row.sha)),
        ref=row.ref,
        path=plan.workflow.path,
        job=found[1].partition("[")[0].partition("/")[0],
        event=row.event,
        payload=cast("dict[str, Raw]", event) if isinstance(event, dict) else {},
        inputs=plan.given.inputs,
        matrix=None if node is None else node.matrix,
        variables=plan.given.vars,
        secret_names=list(plan.given.secrets),
    )
