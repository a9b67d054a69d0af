"""The pages about runs: the list, one run with its steps, its waterfall and its log, and what one may do with it."""

from typing import Final
from urllib.parse import urlencode

import msgspec
from sqlalchemy import Connection

from ostler.domain.job import JobState
from ostler.domain.machine import Refused
from ostler.domain.run import RunState
from ostler.effects import Effects
from ostler.protocol.problem import problem
from ostler.protocol.v1 import run_messages as told
from ostler.server.call import Refusal, accepted
from ostler.server.pages import wording
from ostler.server.pages.exchange import Drawn, Moved, PageRequest
from ostler.server.pages.run_view import run_view
from ostler.server.pages.views import Choice, Link, RunRow, RunsView
from ostler.server.pages.workflow_run_pages import WorkflowRunPages
from ostler.store import jobs, pools, reruns, runners, runs, submissions
from ostler.store.database import Database
from ostler.store.sealing import Sealer

FIRST_COMMAND: Final = "ostler job submit -- echo 'hello, world'"

_ENDED = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED})
_STATES = frozenset(state.value for state in RunState)
_ENDED_JOB = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
_SECRETS_GONE = "It cannot be run again from here, because its secrets were erased when it ended."
_SECRETS_FIX = "Submit it again from where its secrets are kept."


class RunPages:
    """See the module."""

    def __init__(self, database: Database, sealer: Sealer, effects: Effects, workflow_runs: WorkflowRunPages) -> None:
        self._database = database
        self._workflow_runs = workflow_runs
        self._sealer = sealer
        self._effects = effects

    async def runs(self, request: PageRequest) -> Drawn:
        """The list, newest first."""
        state, pool, search = (request.query.get(name, "") for name in ("state", "pool", "q"))
        before = request.query.get("before", "")
        asked = {"state": state if state in _STATES else "", "pool": pool, "search": search[:200], "cursor": before}
        query = msgspec.convert(asked, told.RunsQuery)
        found, all_pools = await self._database.read(_runs, query)
        filters = {"state": query.state, "pool": pool, "q": search}
        chosen = {name: value for name, value in filters.items() if value}
        older = urlencode({**chosen, "before": found.next_cursor}) if found.next_cursor else ""
        view = RunsView(
            rows=tuple(run_row(run) for run in found.runs),
            states=_states(query.state),
            pools=pool_choices(all_pools, pool),
            search=search,
            query=urlencode({**chosen, "before": before} if before else chosen),
            filtered=bool(chosen) or bool(before),
            next_href=f"/runs?{older}" if older else "",
            first_command=FIRST_COMMAND,
        )
        return Drawn("runs", "Runs", "runs", view)

    async def run(self, request: PageRequest) -> Drawn:
        """One run, and of its jobs the one that was asked for, or the one that is most worth a look."""
        view = accepted(await self._database.read(runs.get, request.values["run"]))
        wanted = request.values.get("job", "")
        if view.of_workflow and not wanted:
            return await self._workflow_runs.drawn(request, view)
        job = next((each for each in view.jobs if each.id == wanted), None) if wanted else _worth_a_look(view.jobs)
        if job is None:
            raise Refusal(problem("not_found", f"the run has no job {wanted!r}"))
        isolation = await self._isolation(job)
        secrets = not view.of_workflow and any(each.secret_names for each in view.jobs)
        drawn = run_view(
            view,
            job,
            now=self._effects.clock.now(),
            isolation=isolation,
            can_cancel=view.state not in _ENDED and view.state is not RunState.CANCELLING,
            can_rerun=view.state in _ENDED and not secrets and not view.of_workflow,
            note=f"{_SECRETS_GONE} {_SECRETS_FIX}" if secrets and view.state in _ENDED else "",
        )
        return Drawn("run", view.name, "runs", drawn)

    async def job(self, request: PageRequest) -> Moved:
        """Where a job is shown."""
        view = accepted(await self._database.read(jobs.get, request.values["job"]))
        return Moved(f"/runs/{view.run_id}/jobs/{view.id}")

    async def cancel(self, request: PageRequest) -> Moved:
        """Cancel a run."""
        run_id, now = request.values["run"], self._effects.clock.now()
        accepted(await self._database.run(runs.cancel, run_id, f"cancelled by {request.person.name}", now))
        return Moved(f"/runs/{run_id}")

    async def rerun(self, request: PageRequest) -> Moved:
        """Submit the same again, as a new run."""
        view = accepted(await self._database.read(runs.get, request.values["run"]))
        if view.of_workflow:
            return await self._workflow_runs.rerun_all(request)
        original = accepted(await self._database.read(reruns.original, view.id))
        if original.spec.secrets:
            raise Refusal(problem("transition_refused", _SECRETS_GONE, fix=_SECRETS_FIX))
        person = request.person.name
        prepared = accepted(
            submissions.prepare(original, self._effects.ids, self._sealer, submitted_by=person),
        )
        submitted = accepted(await self._database.run(submissions.submit, prepared, self._effects.clock.now()))
        return Moved(f"/runs/{submitted.run_id}")

    async def _isolation(self, job: told.JobView) -> str:
        if not job.attempts:
            return ""
        runner = await self._database.read(runners.get, job.attempts[-1].runner_id)
        return "" if isinstance(runner, Refused) else runner.isolation


def run_row(run: told.RunSummary) -> RunRow:
    """One run as a row."""
    ended = run.finished_at is not None
    began = run.started_at
    return RunRow(
        id=run.id,
        title=run.name,
        status=wording.RUN[run.state],
        target=run.runner_name,
        trigger=f"by {run.submitted_by}" if run.submitted_by else "",
        pool=Link(run.pool_name, f"/pools/{run.pool_name}") if run.pool_name else None,
        cause=wording.short_failure(run.failure) if run.failure and run.state is RunState.FAILED else "",
        created_at=run.created_at,
        started_at=None if ended else began,
        duration_ms=(run.finished_at - began) // 1000 if run.finished_at is not None and began is not None else None,
    )


def pool_choices(all_pools: list[pools.PoolView], chosen: str) -> tuple[Choice, ...]:
    """The pools as entries of a filter."""
    every = Choice("", "All pools", chosen=not chosen)
    return (every, *(Choice(each.name, each.name, chosen=chosen in (each.id, each.name)) for each in all_pools))


def _runs(connection: Connection, query: told.RunsQuery) -> tuple[told.RunsReply, list[pools.PoolView]]:
    return runs.list_page(connection, query), pools.list_all(connection)


def _states(chosen: str) -> tuple[Choice, ...]:
    every = Choice("", "All states", chosen=not chosen)
    return (every, *(Choice(state.value, status.label, state.value == chosen) for state, status in wording.RUN.items()))


def _worth_a_look(of_run: list[told.JobView]) -> told.JobView | None:
    for states in (frozenset({JobState.FAILED}), frozenset(JobState) - _ENDED_JOB):
        found = next((job for job in of_run if job.state in states), None)
        if found is not None:
            return found
    return of_run[0] if of_run else None
