"""Carries out a plan on this machine: what the pure run wants done is done with supervisors, what they say is told it.

Jobs run side by side as their needs allow, at most so many at a time. Asking to cancel lets jobs end as the language
has it, with the steps that always run; asking again kills whatever is left.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, Literal, NamedTuple

from ostler.agent.errors import SupervisorError
from ostler.agent.supervision import ActionServices, JobOrder, JobResult, Supervisor, Supervisors
from ostler.cli.local_run.concurrency_groups import ConcurrencyGroups
from ostler.cli.local_run.folders import Folders, log_file
from ostler.cli.local_run.happenings import Ending, Happening, JobFinished, JobStarted, Notice
from ostler.cli.local_run.job_run import JobRun
from ostler.domain.machine import Refused
from ostler.workflow.run import happenings
from ostler.workflow.run.effects import CancelJob, Effect, JoinGroup, LeaveGroup, RunEnded, StartedJob, StartJob
from ostler.workflow.run.plan import Plan
from ostler.workflow.run.reducer import Reducer, begin
from ostler.workflow.run.secrets import secret_values
from ostler.workflow.run.state import Node, NodeState

Tell = Callable[[Happening], None]


class LeftOut(NamedTuple):
    """A job that is not run. One that was not asked for (``skipped``) holds up nobody; a failure does."""

    conclusion: Literal["skipped", "failure"]
    reason: str


_GONE_SECONDS: Final = 10.0

Judge = Callable[[StartedJob], LeftOut | None]


class Settings(NamedTuple):
    """What is the same for all jobs."""

    secrets: dict[str, str]
    env: dict[str, str]
    services: ActionServices
    isolation: str
    parallel: int


class LocalDriver:
    """One run of one workflow."""

    def __init__(
        self, plan: Plan, supervisors: Supervisors, folders: Folders, settings: Settings, tell: Tell, judge: Judge
    ) -> None:
        state, effects = begin(plan)
        self._plan = plan
        self._reducer = Reducer(plan, state)
        self._effects = deque(effects)
        self._supervisors = supervisors
        self._folders = folders
        self._settings = settings
        self._tell = tell
        self._judge = judge
        self._groups = ConcurrencyGroups()
        self._waiting: deque[StartJob] = deque()
        self._running: dict[str, Supervisor | None] = {}
        self._to_cancel: dict[str, CancelJob] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._told: set[str] = set()
        self._launched = 0
        self._fresh = tuple(state.nodes.values())
        self._ended: asyncio.Future[RunEnded] = asyncio.get_running_loop().create_future()

    @property
    def startable(self) -> int:
        """How many jobs can start at once."""
        return sum(isinstance(effect, StartJob) for effect in self._effects)

    async def until_ended(self) -> Ending:
        """Run to the end."""
        self._settle()
        ended = await self._ended
        await asyncio.gather(*self._tasks)
        if ended.note:
            self._tell(Notice(message=ended.note))
        return ended.conclusion

    def cancel(self, reason: str) -> None:
        """End in good order."""
        self._happened(happenings.CancelAsked(reason=reason))

    def kill(self) -> None:
        """End at once."""
        self._happened(happenings.CancelAsked(reason="killed", force=True))

    async def abandon(self) -> None:
        """Kill what runs because nobody can be told of it any more, and wait until it is gone."""
        supervisors = [supervisor for supervisor in self._running.values() if supervisor is not None]
        for supervisor in supervisors:
            await supervisor.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GONE_SECONDS):
                for supervisor in supervisors:
                    while supervisor.result() is None:
                        await supervisor.changed()

    def _happened(self, happening: happenings.Happening) -> None:
        if not self._ended.done():
            self._effects.extend(self._reducer.apply(happening))
            self._settle()

    def _settle(self) -> None:
        """Do all that is to be done, which may cause more of it."""
        while self._effects:
            self._carry_out(self._effects.popleft())
        self._tell_of_nodes()
        while self._waiting and len(self._running) < self._settings.parallel:
            start = self._waiting.popleft()
            self._running[start.node] = None
            self._spawn(self._job(start))

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case StartJob():
                left_out = self._judge(effect.job)
                if left_out:
                    self._leave_out(effect, left_out)
                else:
                    self._waiting.append(effect)
            case CancelJob():
                self._cancel_job(effect)
            case JoinGroup():
                for answer in self._groups.join(effect):
                    self._effects.extend(self._reducer.apply(answer))
            case LeaveGroup():
                for answer in self._groups.leave(effect):
                    self._effects.extend(self._reducer.apply(answer))
            case RunEnded():
                self._ended.set_result(effect)

    def _leave_out(self, effect: StartJob, left_out: LeftOut) -> None:
        conclusion, reason = left_out
        self._finished(JobFinished(job=effect.node, name=effect.job.name, conclusion=conclusion, note=reason))
        result = "failure" if conclusion == "failure" else "success"
        self._effects.extend(self._reducer.apply(happenings.JobEnded(effect.node, result, note=reason)))

    def _cancel_job(self, effect: CancelJob) -> None:
        waiting = next((start for start in self._waiting if start.node == effect.node), None)
        if waiting is not None:
            self._waiting.remove(waiting)
            ended = happenings.JobEnded(effect.node, "cancelled", note=effect.reason)
            self._effects.extend(self._reducer.apply(ended))
        elif effect.node in self._running:
            self._to_cancel[effect.node] = effect
            supervisor = self._running[effect.node]
            if supervisor is not None:
                self._spawn(_cancelled(supervisor, effect))

    async def _job(self, start: StartJob) -> None:
        job = start.job
        self._tell(JobStarted(job=start.node, name=job.name, labels=job.labels))
        self._happened(happenings.JobStarted(start.node))
        log = log_file(self._folders.run, start.node)
        order = self._order(start)
        try:
            supervisor = await self._supervisors.launch(order)
        except SupervisorError as error:
            result = JobResult(conclusion="failed", cause="infrastructure", evidence=str(error))
        else:
            self._running[start.node] = supervisor
            if start.node in self._to_cancel:
                await _cancelled(supervisor, self._to_cancel[start.node])
            result = await JobRun(start.node, supervisor, log, self._tell).until_ended()
            await self._supervisors.discard(order.job_id, order.fence)
        ending = _ENDINGS[result.conclusion]
        note = result.evidence if result.conclusion != "succeeded" and result.cause != "step_failed" else ""
        self._finished(
            JobFinished(
                job=start.node,
                name=job.name,
                conclusion=ending,
                duration_ms=result.duration_ms,
                outputs=result.outputs,
                note=note,
                log=str(log),
            ),
        )
        del self._running[start.node]
        self._happened(happenings.JobEnded(start.node, _RESULTS[result.conclusion], result.outputs, note, result.cause))

    def _order(self, start: StartJob) -> JobOrder:
        job = start.job
        self._launched += 1
        given = secret_values(self._plan, self._reducer.state(), start.node, self._settings.secrets)
        secrets = {} if isinstance(given, Refused) else given
        return JobOrder(
            job_id=f"{self._folders.run.name}-{self._launched}",
            fence=1,
            program=job.program,
            program_secrets=secrets,
            services=self._settings.services,
            env=self._settings.env,
            secrets=tuple(value for value in secrets.values() if value),
            timeout_ms=job.timeout_ms,
            isolation=self._settings.isolation,
        )

    def _tell_of_nodes(self) -> None:
        """Tell the end of those that never started: skipped, cancelled before, or impossible."""
        changed = (*self._fresh, *self._reducer.changed())
        self._fresh = ()
        for node in changed:
            childless = node.kind == "job" or not self._reducer.book.children.get(node.id)
            if node.state is NodeState.ENDED and childless and node.id not in self._told:
                self._finished(_unstarted(node))

    def _finished(self, finished: JobFinished) -> None:
        self._told.add(finished.job)
        self._tell(finished)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._ended.done():
            self._ended.set_exception(error)


async def _cancelled(supervisor: Supervisor, effect: CancelJob) -> None:
    if effect.force:
        await supervisor.kill()
    else:
        await supervisor.cancel(effect.reason)


def _unstarted(node: Node) -> JobFinished:
    conclusion: Ending = node.conclusion or "skipped"
    return JobFinished(job=node.id, name=node.name, conclusion=conclusion, outputs=node.outputs, note=node.note)


_ENDINGS: dict[str, Ending] = {
    "succeeded": "success",
    "failed": "failure",
    "cancelled": "cancelled",
    "timed_out": "failure",
}
_RESULTS: dict[str, happenings.JobResult] = {
    "succeeded": "success",
    "failed": "failure",
    "cancelled": "cancelled",
    "timed_out": "failure",
}
