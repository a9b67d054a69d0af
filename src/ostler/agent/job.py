"""One attempt's life on this runner, from the claim to the acknowledged result.

    claimed → starting → granted → supervised → finished → acknowledged

Each arrow is written down before the next thing happens (see ``journal``), so the life can be taken up at any point by
an agent that was restarted: ``resume`` looks at what the journal and the supervisors still know. Whoever says that the
attempt is not ours any more (a stale fence, a directive, our own lease running out) makes the life end by ``abandon``:
the job is killed and nothing is reported.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import NamedTuple, Protocol

import msgspec

from ostler.agent.delivery import GONE, LOST, Delivery
from ostler.agent.errors import SupervisorError
from ostler.agent.journal import Entry, Journal
from ostler.agent.logging import Log
from ostler.agent.order import finish_request, infrastructure, job_order
from ostler.agent.outbox import Outbox
from ostler.agent.shipping import EventShipper, LogShipper
from ostler.agent.supervision import ActionServices, JobResult, Network, Supervisor, Supervisors
from ostler.client.errors import ProblemError
from ostler.effects import Effects
from ostler.protocol.v1 import table
from ostler.protocol.v1.runner_messages import Directive, Phase, ReleaseRequest, StartRequest
from ostler.protocol.v1.spec import JobSpec

SOON_SECONDS = 0.02
SOON_AFTER_SHORT_SECONDS = 0.1


class Pace:
    """For how long a new job is only watched: longer on a runner whose last job was over in a moment.

    What is worth a message is a matter of load too: on a busy machine the same command takes many times as long.
    """

    def __init__(self) -> None:
        self.soon_seconds = SOON_SECONDS

    def learn(self, result: JobResult) -> None:
        """Take the last job for an example."""
        short = result.duration_ms < SOON_AFTER_SHORT_SECONDS * 1000
        self.soon_seconds = SOON_AFTER_SHORT_SECONDS if short else SOON_SECONDS


class Work(Protocol):
    """What a life reports to whoever holds the runner's slots."""

    def fault(self, reason: str) -> None:
        """Something of the runner's own is broken; it should be shown and fixed."""
        ...

    def spawn(self, cleaning: Coroutine[object, object, None]) -> None:
        """Clean up without keeping the slot."""
        ...


class JobParts(NamedTuple):
    """What every life on one runner shares."""

    journal: Journal
    outbox: Outbox
    supervisors: Supervisors
    delivery: Delivery
    effects: Effects
    environment: Callable[[], Mapping[str, str]]
    isolation: str
    network: Network
    services: ActionServices
    chunk_bytes: Callable[[], int]
    log: Log
    work: Work
    pace: Pace


class JobLife:
    """See the module. ``run`` a new claim, or ``resume`` what an earlier agent began."""

    def __init__(self, entry: Entry, parts: JobParts) -> None:
        self._parts = parts
        self._log = parts.log.bind(job_id=entry.job_id, run_id=entry.run_id, fence=entry.fence)
        self._supervisor: Supervisor | None = None
        self._cancel_reason = ""
        self._abandoned = ""
        self._told = 0
        self._token = ""
        self._task: asyncio.Task[None] | None = None
        self.entry = entry
        self.renewed_at = parts.effects.clock.monotonic()
        """When the lease was last known to be ours."""

    @property
    def phase(self) -> Phase:
        """How far the attempt has come, as the server is told at a reconnection."""
        return "finished" if self.entry.phase == "acknowledged" else self.entry.phase

    @property
    def cancelling(self) -> bool:
        """Whether the job is being stopped."""
        return bool(self._cancel_reason)

    async def run(self, spec: JobSpec) -> None:
        """Live from the claim to the end."""
        await self._guard(self._begin(spec))

    async def resume(self) -> None:
        """Live on after a restart of the agent."""
        await self._guard(self._resume())

    def direct(self, directive: Directive) -> None:
        """Do what the server says about this attempt."""
        if directive.action == "abandon":
            self.abandon(directive.reason or "directive")
        elif directive.action == "cancel":
            self.cancel(directive.reason)

    def cancel(self, reason: str) -> None:
        """Begin to stop the job; its result will say so."""
        first = not self._cancel_reason
        self._cancel_reason = self._cancel_reason or reason or "cancelled"
        if first:
            self._log.info("job_cancelling", reason=self._cancel_reason)
            if self._supervisor is not None:
                self._parts.work.spawn(self._supervisor.cancel(self._cancel_reason))

    def abandon(self, reason: str) -> None:
        """Kill the job and report nothing."""
        if not self._abandoned:
            self._abandoned = reason
            if self._task is not None:
                self._task.cancel()

    async def _guard(self, life: Coroutine[object, object, None]) -> None:
        self._task = asyncio.current_task()
        try:
            if self._abandoned and self._task is not None:
                self._task.cancel()
            await life
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._abandoned or task is None or task.uncancel() > 0:
                raise
        except ProblemError as error:
            if error.code not in GONE and error.code not in LOST:
                self._log.error("job_refused", code=error.code, reason=str(error))
            self._abandoned = error.code
        except Exception as error:
            if self._supervisor is not None or self.entry.phase != "granted":
                raise
            # Nothing runs, and nobody else will ever be given this job: without a result it would last for ever.
            self._log.error("job_not_begun", reason=_named(error))
            await self._finish(infrastructure("agent_error", _named(error)))
        finally:
            self._task = None
        if self._abandoned:
            await self._drop()

    async def _drop(self) -> None:
        self._log.warning("job_abandoned", reason=self._abandoned)
        if self._supervisor is not None:
            await self._supervisor.kill()
        await self._parts.supervisors.discard(self.entry.job_id, self.entry.fence)
        self._forget()

    # Beginning.

    async def _begin(self, spec: JobSpec) -> None:
        try:
            self._journal("claimed", sync=False, strict=True)
            self._journal("starting", sync=True, strict=True)
        except OSError as error:
            self._parts.work.fault(f"the journal cannot be written: {error}")
            await self._release(f"disk: {error.strerror or error}")
            return
        if not await self._granted():
            return
        if self._cancel_reason:
            await self._finish(JobResult(conclusion="cancelled", cause="cancelled", evidence=self._cancel_reason))
            return
        services = msgspec.structs.replace(self._parts.services, token=self._token)
        order = job_order(
            self.entry, spec, self._parts.environment(), self._parts.isolation, self._parts.network, services
        )
        try:
            self._supervisor = await self._parts.supervisors.launch(order)
        except SupervisorError as error:
            self._parts.work.fault(str(error))
            await self._finish(infrastructure(error.code, str(error)))
            return
        if self._cancel_reason:
            await self._supervisor.cancel(self._cancel_reason)
        await self._follow(self._supervisor, new=True)

    async def _granted(self) -> bool:
        asked_at = self._parts.effects.clock.monotonic()
        request = StartRequest(self.entry.job_id, self.entry.fence, self.entry.start_key)
        reply = await self._parts.delivery.call(table.START, request=request)
        self._token = reply.job_token
        self.renewed_at = max(self.renewed_at, asked_at)
        self._journal("granted", sync=False)
        self._log.info("job_started", kind=self.entry.kind.value)
        if reply.directive is not None:
            self.direct(reply.directive)
        return not self._abandoned

    async def _release(self, reason: str) -> None:
        request = ReleaseRequest(self.entry.job_id, self.entry.fence, reason)
        await self._parts.delivery.call(table.RELEASE, request=request)
        self._log.info("claim_released", reason=reason)
        self._forget()

    async def _resume(self) -> None:
        supervisors = self._parts.supervisors
        self._supervisor = await supervisors.adopt(self.entry.job_id, self.entry.fence)
        if self.entry.result is not None:
            await self._deliver(self._supervisor)
        elif self._supervisor is not None:
            self._log.info("job_adopted")
            if self._cancel_reason:
                await self._supervisor.cancel(self._cancel_reason)
            await self._follow(self._supervisor, new=False)
        else:
            await self._never_ran()

    async def _never_ran(self) -> None:
        """The agent died between the claim and the launch: nothing was executed, and nothing may be executed now.

        The specification is gone with the old process, so the claim goes back. If it had become a grant in the
        meantime, the attempt is reported as failed by us.
        """
        try:
            await self._release("the agent was restarted before the job began")
        except ProblemError as error:
            if error.code != "job_started":
                raise
            evidence = "the agent was restarted after the start was granted, and nothing tells that the job began"
            await self._finish(infrastructure("agent_restarted", evidence))

    # Following.

    async def _follow(self, supervisor: Supervisor, *, new: bool) -> None:
        logs, events = self._shippers(supervisor)
        logs.agreed = new  # there was nothing yet that the server could have
        if await _soon_over(supervisor, self._parts.pace.soon_seconds):
            await self._watch(supervisor, logs, events)
            await logs.run()
            await events.run()
        else:
            await _together(self._watch(supervisor, logs, events), logs.run(), events.run())
        await self._acknowledge(logs, events)

    def _shippers(self, supervisor: Supervisor) -> tuple[LogShipper, EventShipper]:
        parts = self._parts
        logs = LogShipper(self.entry, supervisor, parts.delivery, parts.chunk_bytes(), self.direct)
        return logs, EventShipper(self.entry, supervisor, parts.delivery, parts.effects.clock, self.direct)

    async def _watch(self, supervisor: Supervisor, logs: LogShipper, events: EventShipper) -> None:
        while (result := supervisor.result()) is None:
            self._tell(supervisor)
            logs.news.set()
            events.news.set()
            await supervisor.changed()
        self._tell(supervisor)
        self._conclude(result)
        for shipper in (logs, events):
            shipper.final.set()
            shipper.news.set()

    def _tell(self, supervisor: Supervisor) -> None:
        """Log how the steps went: by number, because a name may be a whole command line."""
        for event in supervisor.events(self._told):
            self._told = event.seq
            log = self._log.bind(step=event.step)
            if event.kind == "step_started":
                log.debug(event.kind)
            else:
                log.info(
                    event.kind,
                    conclusion=event.conclusion,
                    exit_code=event.exit_code,
                    signal=event.signal,
                    duration_ms=event.duration_ms,
                    cpu_ms=event.usage.cpu_micros // 1000,
                    memory_peak_bytes=event.usage.memory_peak_bytes,
                )

    # Finishing.

    def _conclude(self, result: JobResult) -> None:
        self._parts.pace.learn(result)
        self._log.info(
            "job_finished",
            conclusion=result.conclusion,
            cause=result.cause,
            detail=result.detail,
            duration_ms=result.duration_ms,
            cpu_ms=result.usage.cpu_micros // 1000,
            memory_peak_bytes=result.usage.memory_peak_bytes,
        )
        self.entry = msgspec.structs.replace(self.entry, result=finish_request(self.entry, result))
        self._journal("finished", sync=True)

    async def _finish(self, result: JobResult) -> None:
        self._conclude(result)
        await self._acknowledge(None, None)

    async def _deliver(self, supervisor: Supervisor | None) -> None:
        logs, events = self._shippers(supervisor) if supervisor is not None else (None, None)
        for shipper in (logs, events):
            if shipper is not None:
                shipper.final.set()
                await shipper.run()
        await self._acknowledge(logs, events)

    async def _acknowledge(self, logs: LogShipper | None, events: EventShipper | None) -> None:
        await self._parts.outbox.deliver(self.entry, logs, events)
        self._forget()
        self._parts.work.spawn(self._parts.supervisors.discard(self.entry.job_id, self.entry.fence))

    def _forget(self) -> None:
        self._journal("acknowledged", sync=False)

    def _journal(self, phase: Phase | str, *, sync: bool, strict: bool = False) -> None:
        self.entry = msgspec.structs.replace(self.entry, phase=phase)
        try:
            self._parts.journal.record(self.entry, sync=sync)
        except OSError as error:
            if strict:
                raise
            # The result is sent all the same: once the server has it, the journal is not needed any more.
            self._parts.work.fault(f"the journal cannot be written: {error}")


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


async def _soon_over(supervisor: Supervisor, seconds: float) -> bool:
    """Wait a moment for the result: most of the cost of a short job would be messages that tell how far it is."""
    try:
        async with asyncio.timeout(seconds):
            while supervisor.result() is None:
                await supervisor.changed()
    except TimeoutError:
        return False
    return True


async def _together(*parts: Coroutine[object, object, None]) -> None:
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
