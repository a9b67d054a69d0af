"""Moving runs of workflows: whoever is woken for one looks at it, and stores in one transaction all that follows.

The state, the jobs for the runners, cancelled jobs and concurrency groups are written together or not at all, on
condition that nobody moved the run meanwhile; otherwise it is looked at again. So it does not matter how many replicas
are woken, or after which word one of them falls silent: a reason that was not done away with comes again.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import structlog
from sqlalchemy import Connection

from ostler.domain.job import JobEvent
from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.protocol.v1.run_messages import SubmitRequest
from ostler.protocol.v1.spec import LONGEST_NAME, JobSpec
from ostler.server.workflows.moves import Move, Seen, move, see
from ostler.store import (
    concurrency_groups,
    run_news,
    submissions,
    target_values,
    transitions,
    workflow_nodes,
    workflow_runs,
    workflow_wakes,
)
from ostler.store.database import Database
from ostler.store.sealing import Sealer
from ostler.store.submissions import Submission
from ostler.store.workflow_wakes import Woken
from ostler.workflow.run.effects import CancelJob, JoinGroup, StartJob
from ostler.workflow.run.plan import Plan
from ostler.workflow.run.secrets import secret_values

log = structlog.get_logger("ostler.server")

_AT_ONCE: Final = 50
_TRIES: Final = 20
_REMEMBERED: Final = 200
_LONGEST_TIMEOUT_MS: Final = 30 * 24 * 3_600_000
_UNTRUSTED_USER: Final = "workflow"
_EVERY_RUNNER: Final = "self-hosted"
"""What every runner here is, whatever its labels say."""
_TOKEN: Final = "GITHUB_TOKEN"
"""The one secret that every job of a trusted run gets, named or not: ``github.token`` is made of it."""


class _CannotBe(Exception):
    """Jobs that no pool takes; undoes the transaction, so that the look can be repeated with that known."""

    code = "job_impossible"

    def __init__(self, nodes: Sequence[str], reason: str) -> None:
        super().__init__(reason)
        self.nodes = nodes
        self.reason = reason


class Prepared(NamedTuple):
    """A job to be stored, and the node that it is for."""

    node: str
    submission: Submission


class Driver:
    """See the module."""

    def __init__(self, database: Database, sealer: Sealer, effects: Effects) -> None:
        self._database = database
        self._sealer = sealer
        self._effects = effects
        self._plans: OrderedDict[str, Plan] = OrderedDict()

    async def round(self) -> bool:
        """Look at every run that somebody was woken for."""
        now = self._effects.clock.now()
        woken = await self._database.run(workflow_wakes.take, now, limit=_AT_ONCE)
        for each in woken:
            try:
                await self.look(each)
            except Exception:
                log.exception("workflow_run_failed", run_id=each.run_id, tries=each.tries)
        return len(woken) >= _AT_ONCE

    async def look(self, woken: Woken) -> None:
        """Move one run as far as it goes now."""
        impossible: dict[str, str] = {}
        for _ in range(_TRIES):
            seen = await self._database.read(see, woken.run_id)
            if seen is None:
                self._plans.pop(woken.run_id, None)
                await self._database.run(workflow_wakes.done, woken)
                return
            plan = await self._plan(woken.run_id)
            moved = move(plan, seen, impossible)
            prepared = self._prepared(plan, seen, moved, impossible)
            if prepared is None:
                continue
            try:
                if await self._database.run(_write, woken, seen, moved, prepared, self._effects.clock.now()):
                    return
            except _CannotBe as cannot:
                impossible |= dict.fromkeys(cannot.nodes, cannot.reason)
        log.warning("workflow_run_contended", run_id=woken.run_id)

    async def _plan(self, run_id: str) -> Plan:
        plan = self._plans.get(run_id)
        if plan is None:
            plan = self._plans[run_id] = await self._database.read(workflow_runs.plan, run_id)
            if len(self._plans) > _REMEMBERED:
                self._plans.popitem(last=False)
        return plan

    def _prepared(self, plan: Plan, seen: Seen, moved: Move, impossible: dict[str, str]) -> Sequence[Prepared] | None:
        """Seal and encode the jobs that start, outside of any transaction; nothing if one of them cannot be."""
        prepared: list[Prepared] = []
        for start in moved.starts:
            submission = self._submission(plan, seen, moved, start)
            if isinstance(submission, Refused):
                impossible[start.node] = submission.reason
                return None
            prepared.append(Prepared(start.node, submission))
        return prepared

    def _submission(self, plan: Plan, seen: Seen, moved: Move, start: StartJob) -> Submission | Refused:
        row, job = seen.row, start.job
        names = (*job.secrets, _TOKEN)
        values = target_values.open_secrets(row.target_id, seen.sealed_secrets, names, self._sealer)
        secrets: Mapping[str, str] | Refused = secret_values(plan, moved.state, start.node, values)
        if isinstance(secrets, Refused):
            return secrets
        spec = JobSpec(
            name=job.name[:LONGEST_NAME] or start.node[:LONGEST_NAME],
            program=job.program,
            secrets={**secrets, **{name: value for name, value in values.items() if name == _TOKEN}},
            timeout_ms=min(max(1, job.timeout_ms), _LONGEST_TIMEOUT_MS),
        )
        request = SubmitRequest(spec=spec, pool=job.group or seen.pool, labels=_needed(job.labels))
        return submissions.prepare(request, self._effects.ids, self._sealer, submitted_by=row.actor or _UNTRUSTED_USER)


def _write(
    connection: Connection, woken: Woken, seen: Seen, moved: Move, prepared: Sequence[Prepared], now: int
) -> bool:
    row = seen.row
    if moved.changed:
        if not workflow_runs.save(connection, row, moved.state, now):
            return False
        jobs = {each.node: each.submission.job_id for each in prepared}
        workflow_nodes.put(connection, row.run_id, moved.nodes, jobs)
        _enlist(connection, row.run_id, prepared, now)
        _cancel(connection, row.run_id, moved.cancels, now)
        for asked in moved.groups:
            if isinstance(asked, JoinGroup):
                concurrency_groups.join(connection, row.target_id, row.run_id, asked, now)
            else:
                concurrency_groups.leave(connection, row.target_id, row.run_id, asked, now)
        run_news.tell(connection, row, moved.state, now)
    workflow_wakes.done(connection, woken)
    return True


def _enlist(connection: Connection, run_id: str, prepared: Sequence[Prepared], now: int) -> None:
    by_pool: dict[str, list[Prepared]] = {}
    for each in prepared:
        by_pool.setdefault(each.submission.pool, []).append(each)
    for those in by_pool.values():
        refused = submissions.enlist(connection, run_id, [each.submission for each in those], now)
        if refused is not None:
            raise _CannotBe([each.node for each in those], refused.reason)


def _cancel(connection: Connection, run_id: str, cancels: Sequence[CancelJob], now: int) -> None:
    if not cancels:
        return
    jobs = workflow_nodes.jobs_of(connection, run_id)
    reasons = {jobs[each.node]: each.reason for each in cancels if each.node in jobs}
    changes: list[transitions.Change] = []
    for loaded in transitions.load_run(connection, run_id):
        reason = reasons.get(loaded.job.id)
        if reason is None or loaded.job.state in transitions.ENDED_JOB:
            continue
        change = transitions.decide(loaded, JobEvent.CANCEL, now, reason=reason)
        if isinstance(change, transitions.Change) and change.job.state is not loaded.job.state:
            changes.append(change)
    transitions.write(connection, changes, now)


def _needed(labels: Sequence[str]) -> list[str]:
    """Return the labels that tell runners apart: `self-hosted` is true of every runner here."""
    return [label for label in labels if label.casefold() != "self-hosted"]
