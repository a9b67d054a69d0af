"""The page of one run of a workflow, and what one may do with it there."""

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.domain.run import RunState
from ostler.effects import Effects
from ostler.protocol.v1 import run_messages as told
from ostler.server.call import Streaming, accepted
from ostler.server.calls.artifacts import ArtifactCalls
from ostler.server.pages.exchange import Drawn, Moved, PageRequest
from ostler.server.pages.runner_pages import operates
from ostler.server.pages.views import Button
from ostler.server.pages.workflow_run_view import MOST_REMARKS, Pieces, workflow_run_view
from ostler.store import reports, workflow_runs
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
        buttons = _buttons(run, pieces.facts.phase) if operates(request.person) else ()
        view = workflow_run_view(pieces, now=self._effects.clock.now(), buttons=buttons)
        return Drawn("workflow_run", f"{run.name} #{pieces.facts.number}", "workflows", view)

    async def approve(self, request: PageRequest) -> Moved:
        """Let a run from a fork begin."""
        run_id, now = request.values["run"], self._effects.clock.now()
        accepted(await self._database.run(workflow_runs.approve, run_id, request.person.name, now))
        return Moved(f"/runs/{run_id}")

    async def artifact(self, request: PageRequest) -> Streaming:
        """One artifact, to be saved."""
        return await self._artifacts.shown(request.values["artifact"], request.headers)


def _buttons(run: told.RunView, phase: str) -> tuple[Button, ...]:
    at = f"/runs/{run.id}"
    if phase == "held" and run.state not in _ENDED:
        cancel = Button(text="Cancel", action=f"{at}/cancel", danger=True)
        return (Button(text="Approve and run", action=f"{at}/approve", main=True), cancel)
    if run.state not in _ENDED:
        return () if run.state is RunState.CANCELLING else (Button(text="Cancel", action=f"{at}/cancel", danger=True),)
    return ()


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
