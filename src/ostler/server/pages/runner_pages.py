"""The pages about runners: the list, one runner, and what an operator decides about it."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.domain.runner import Admission, RunnerStatus
from ostler.effects import Effects
from ostler.protocol.problem import problem
from ostler.protocol.v1 import fleet_messages as told
from ostler.protocol.v1.run_messages import RunsQuery, RunSummary
from ostler.server.call import Refusal, accepted
from ostler.server.pages import wording
from ostler.server.pages.exchange import Drawn, Moved, PageRequest
from ostler.server.pages.roles import operates
from ostler.server.pages.run_pages import pool_choices, run_row
from ostler.server.pages.views import Button, Link, RunnerRow, RunnersView, RunnerView
from ostler.store import admissions, jobs, pools, runners, runs
from ostler.store.database import Database

_MOST_RUNNERS = 500
_RECENT_AMONG = 200
_RECENT = 8
_GIB = 1024**3
_GONE = (RunnerStatus.OFFLINE, RunnerStatus.RETIRED)

_DECISIONS: Final[Mapping[Admission, tuple[tuple[str, str], ...]]] = {
    Admission.ACTIVE: (("pause", "Pause"), ("drain", "Drain"), ("disable", "Disable")),
    Admission.PAUSED: (("resume", "Resume"), ("drain", "Drain"), ("disable", "Disable")),
    Admission.DRAINING: (("resume", "Resume"), ("disable", "Disable")),
    Admission.DISABLED: (("enable", "Enable"),),
    Admission.QUARANTINED: (("enable", "Enable"),),
    Admission.REVOKED: (),
}


class RunnerPages:
    """See the module."""

    def __init__(self, database: Database, effects: Effects) -> None:
        self._database = database
        self._effects = effects

    async def runners(self, request: PageRequest) -> Drawn:
        """The list."""
        pool, search = request.query.get("pool", ""), request.query.get("q", "")
        found, names, all_pools = await self._database.read(_runners, told.RunnersQuery(pool=pool, limit=_MOST_RUNNERS))
        wanted = [runner for runner in found if _matches(runner, search)]
        chosen = {name: value for name, value in (("pool", pool), ("q", search)) if value}
        view = RunnersView(
            rows=runner_rows(wanted, names),
            pools=pool_choices(all_pools, pool),
            search=search,
            query=urlencode(chosen),
            filtered=bool(chosen),
        )
        return Drawn("runners", "Runners", "runners", view)

    async def runner(self, request: PageRequest) -> Drawn:
        """One runner."""
        runner, names, recent = accepted(await self._database.read(_runner, request.values["runner"]))
        decisions = _DECISIONS[runner.admission] if operates(request.person) else ()
        view = RunnerView(
            runner=runner_rows([runner], names)[0],
            capabilities=(("Isolation", runner.isolation), *sorted(runner.tools.items())),
            system=_system(runner),
            recent=tuple(run_row(run) for run in recent),
            buttons=tuple(
                Button(text=text, action=f"/runners/{runner.id}/{decision}", main=decision in ("resume", "enable"))
                for decision, text in decisions
            ),
        )
        return Drawn("runner", runner.name, "runners", view)

    async def decide(self, request: PageRequest) -> Moved:
        """Pause, resume, drain, disable or enable it."""
        wanted = {"decision": request.values["decision"], "note": request.form.get("note", "").strip()[:500]}
        try:
            decision = msgspec.convert(wanted, told.AdmissionRequest)
        except msgspec.ValidationError as error:
            raise Refusal(problem("not_found", "there is no such decision about a runner")) from error
        now = self._effects.clock.now()
        runner = accepted(await self._database.run(admissions.admit, request.values["runner"], decision, now))
        return Moved(f"/runners/{runner.id}")


def runner_rows(found: Sequence[told.RunnerView], names: Mapping[str, jobs.Named]) -> tuple[RunnerRow, ...]:
    """Runners as rows; ``names`` are the names of the jobs that they hold."""
    return tuple(_row(runner, names) for runner in found)


def _row(runner: told.RunnerView, names: Mapping[str, jobs.Named]) -> RunnerRow:
    held = next((names[job_id] for job_id in runner.job_ids if job_id in names), None)
    live = runner.status not in _GONE
    return RunnerRow(
        id=runner.id,
        name=runner.name,
        status=wording.runner(runner),
        admin=runner.error or runner.note,
        pool=Link(runner.pool_name, f"/pools/{runner.pool_id}"),
        labels=tuple(runner.labels),
        job=Link(held.name, f"/runs/{held.run_id}/jobs/{held.job_id}") if held else None,
        live=live,
        last_seen_at=None if live else runner.last_seen_at,
        version=runner.version,
        platform=" ".join(part for part in (runner.system.os, runner.system.architecture) if part),
    )


def _system(runner: told.RunnerView) -> tuple[tuple[str, str], ...]:
    system = runner.system
    pairs = (
        ("Host", system.hostname),
        ("Operating system", system.os),
        ("Kernel", system.kernel),
        ("Architecture", system.architecture),
        ("Cores", str(system.cpus or "")),
        ("Memory", f"{system.memory_bytes / _GIB:.1f} GiB" if system.memory_bytes else ""),
        ("Disk", f"{system.disk_bytes / _GIB:.0f} GiB" if system.disk_bytes else ""),
        ("Agent", runner.version),
        ("Id", runner.id),
    )
    return tuple((name, value) for name, value in pairs if value)


def _matches(runner: told.RunnerView, search: str) -> bool:
    wanted = search.lower().strip()
    return not wanted or any(wanted in text.lower() for text in (runner.name, runner.pool_name, *runner.labels))


def _runners(
    connection: Connection, query: told.RunnersQuery
) -> tuple[list[told.RunnerView], dict[str, jobs.Named], list[told.PoolView]]:
    found = runners.list_page(connection, query).runners
    names = jobs.names(connection, [job_id for runner in found for job_id in runner.job_ids])
    return found, names, pools.list_all(connection)


def _runner(
    connection: Connection, wanted: str
) -> tuple[told.RunnerView, dict[str, jobs.Named], list[RunSummary]] | Refused:
    runner = runners.get(connection, wanted)
    if isinstance(runner, Refused):
        return runner
    # Attempts are not indexed by runner; among the newest runs is where its recent ones are.
    newest = runs.list_page(connection, RunsQuery(pool=runner.pool_id, limit=_RECENT_AMONG)).runs
    recent = [run for run in newest if run.runner_name == runner.name][:_RECENT]
    return runner, jobs.names(connection, runner.job_ids), recent
