"""The page of one run of a workflow, and what one may do with it there."""

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.domain.run import RunState
from ostler.effects import Effects
from ostler.protocol.problem import problem
from ostler.protocol.v1 import run_messages as told
from ostler.protocol.v1.workflow_messages import RerunRequest, WorkflowRunView
from ostler.server.call import Refusal, Streaming, accepted
from ostler.server.calls.artifacts import ArtifactCalls
from ostler.server.pages.exchange import Drawn, Moved, PageRequest
from ostler.server.pages.roles import operates
from ostler.server.pages.views import Button
from ostler.server.pages.workflow_run_view import MOST_REMARKS, Pieces, workflow_run_view
from ostler.server.workflows.again import again
from ostler.store import reports, workflow_nodes, workflow_runs
from ostler.store.database import Database
from ostler.workflow.run.display import Shown, display

_ENDED = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED})


class WorkflowRunPages:
    """See the module."""

    def __init__(self, database: Database, artifacts: ArtifactCalls, effects: Effects) -> None:
        self._database = database
        self._artifacts = artifacts
        self._effects = effects

    async def drawn(self, request: PageRequest, run: told.RunView) -> Drawn:
        """The page of a run that is known to be a workflow's."""
        pieces = accepted(await self._database.read(_pieces, run))
        pieces = msgspec.structs.replace(pieces, artifacts=await self._artifacts.of_run(run.id))
        buttons = _buttons(run, pieces.facts) if operates(request.person) else ()
        view = workflow_run_view(pieces, now=self._effects.clock.now(), buttons=buttons)
        return Drawn("workflow_run", f"{run.name} #{pieces.facts.number}", "workflows", view)

    async def approve(self, request: PageRequest) -> Moved:
        """Let a run from a fork begin."""
        run_id, now = request.values["run"], self._effects.clock.now()
        accepted(await self._database.run(workflow_runs.approve, run_id, request.person.name, now))
        return Moved(f"/runs/{run_id}")

    async def rerun_all(self, request: PageRequest) -> Moved:
        """Run everything again."""
        return await self._again(request, RerunRequest())

    async def rerun_failed(self, request: PageRequest) -> Moved:
        """Run again what failed, with all that needs it."""
        return await self._again(request, RerunRequest(which="failed"))

    async def rerun_job(self, request: PageRequest) -> Moved:
        """Run one job again, with all that needs it."""
        node = await self._database.read(workflow_nodes.node_of, request.values["job"])
        if node is None or node[0] != request.values["run"]:
            raise Refusal(problem("not_found", f"the run has no job {request.values['job']!r}"))
        return await self._again(request, RerunRequest(which="job", job=node[1]))

    async def _again(self, request: PageRequest, wanted: RerunRequest) -> Moved:
        drawn, now = self._effects.ids.new("run"), self._effects.clock.now()
        name = request.person.name
        made = accepted(await self._database.run(again, request.values["run"], drawn, wanted, name, now))
        return Moved(f"/runs/{made}")

    async def artifact(self, request: PageRequest) -> Streaming:
        """One artifact, to be saved."""
        return await self._artifacts.shown(request.values["artifact"], request.headers)


def _buttons(run: told.RunView, facts: WorkflowRunView) -> tuple[Button, ...]:
    at = f"/runs/{run.id}"
    cancel = Button(text="Cancel", action=f"{at}/cancel", danger=True)
    if run.state not in _ENDED:
        if facts.phase == "held":
            return (Button(text="Approve and run", action=f"{at}/approve", main=True), cancel)
        return () if run.state is RunState.CANCELLING else (cancel,)
    if facts.attempt < max(each.attempt for each in facts.attempts):
        return ()
    everything = Button(text="Run all again", action=f"{at}/rerun")
    if run.state is RunState.SUCCEEDED:
        return (everything,)
    return (Button(text="Run failed jobs again", action=f"{at}/rerun-failed", main=True), everything)


def _pieces(connection: Connection, run: told.RunView) -> Pieces | Refused:
    facts = workflow_runs.view(connection, run.id)
    if isinstance(facts, Refused):
        return facts
    job_ids = [job.id for job in run.jobs]
    return Pieces(
        run=run,
        facts=facts,
        nodes=_nodes(connection, run.id),
        remarks=reports.annotations(connection, job_ids, limit=MOST_REMARKS + 1),
        summaries=reports.summaries(connection, job_ids),
    )


def _nodes(connection: Connection, run_id: str) -> tuple[Shown, ...]:
    row = workflow_runs.get(connection, run_id)
    if row is None or row.state is None:
        return ()
    return display(workflow_runs.plan(connection, run_id), row.state)
