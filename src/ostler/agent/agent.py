"""The agent: one runner, from its enrolment to its good-bye.

It is three loops around the slots: the *poller* asks for work, the *heartbeat* keeps what is held, and each job has a
*life* of its own (see ``job``). Everything they need comes in ``AgentParts``; ``wiring`` fills it for real machines,
the simulator with a simulated network, disk and supervisors.

Ways to end: ``drain`` (finish what runs, say bye), ``cancel`` (stop what runs, then the same), ``detach`` (leave at
once; supervisors go on and the next agent adopts their jobs).
"""

import asyncio
from collections.abc import Coroutine

from ostler import __version__
from ostler.agent.delivery import LOST, Delivery, transient
from ostler.agent.disk_floor import DiskFloor
from ostler.agent.enrolment import Enrolment
from ostler.agent.heartbeat import Heartbeat
from ostler.agent.identity import Applicant, RunnerIdentity
from ostler.agent.job import JobLife, JobParts, Pace
from ostler.agent.journal import Entry, Journal
from ostler.agent.outbox import Outbox
from ostler.agent.parts import AgentParts
from ostler.agent.polling import Poller
from ostler.agent.session import Session
from ostler.agent.slots import Slots
from ostler.client.breaker import Breaker
from ostler.client.caller import Client
from ostler.client.errors import CircuitOpen, ClientError, ProblemError, ReplyMalformed
from ostler.client.transport import TransportError
from ostler.protocol.v1 import table
from ostler.protocol.v1.runner_messages import ByeRequest, Claim, ClaimReply, ClaimRequest, Directive, ReleaseRequest

_BYE_SECONDS = 5.0
_CLEANING_SECONDS = 10.0
_TOOLS_SECONDS = 0.3
"""How long the first hello waits for the tools; some take seconds to tell their version."""
_LONGEST_CONNECT_WAIT_SECONDS = 15.0


class Agent:
    """See the module. ``run`` once."""

    def __init__(self, parts: AgentParts) -> None:
        settings = parts.settings
        self.settings = settings
        self.log = parts.log.bind(runner=settings.name)
        self._parts = parts
        self._tools: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._refusal: ProblemError | None = None
        self._ended = asyncio.Event()
        self._detached = False
        self._hello_due = False
        self.slots = Slots(settings.job_kinds, parts.effects.ids)
        self.floor = DiskFloor(parts.disk, self.slots, settings.minimum_free_bytes, self.fault)
        self.journal = Journal(parts.disk)
        self.identity = self._make_identity()
        self.client = self._make_client()
        self.identity.serve(self.client)
        self.delivery = Delivery(self.client, parts.effects.random, self.log)
        self.outbox = Outbox(self.delivery, self)
        self.session = self._make_session()
        self.heartbeat = self._make_heartbeat()
        self.poller = self._make_poller()
        self.enrolment = Enrolment(self.identity, parts.effects.random, self.log, single_run=settings.single_run)
        self._job_parts = self._make_job_parts()
        self.ready = asyncio.Event()
        """Set once the first hello was answered."""
        self.finished_jobs = 0

    # Running.

    async def run(self) -> None:
        """Be a runner until told to stop. Raises ``EnrolmentRefused`` or ``ProtocolRefused``."""
        working = asyncio.create_task(self._work())
        ending = asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        finally:
            await _cancelled(working, ending)
            if self._tasks and not self._detached and not self.slots.lives:
                await asyncio.wait(self._tasks, timeout=_CLEANING_SECONDS)
            await _cancelled(*self._tasks)
            if not self._detached and self.ready.is_set():
                await self._bye()
            await self._parts.supervisors.close()

    def drain(self) -> None:
        """Take no new work, finish what runs, then end."""
        if not self.slots.draining:
            self.log.info("draining", jobs=len(self.slots.lives))
            self.slots.drain()
        self._check_ended()

    def cancel(self, reason: str) -> None:
        """Drain, but stop what runs."""
        self.drain()
        for life in self.slots.lives:
            life.cancel(reason)

    def detach(self) -> None:
        """End at once and leave running jobs to the next agent."""
        if not self._ended.is_set():
            self.log.info("detaching", jobs=len(self.slots.lives))
            self._detached = True
            self._ended.set()

    async def _work(self) -> None:
        detecting = asyncio.create_task(self._parts.tools.detect())
        guarding = asyncio.create_task(self.heartbeat.guard())
        try:
            await self.enrolment.first()
            await self._resume()
            await asyncio.wait({detecting}, timeout=_TOOLS_SECONDS)
            if detecting.done():
                self._tools = detecting.result()
            else:
                detecting.add_done_callback(self._learn_tools)
            await self._connect()
            self.ready.set()
            await self._loop()
        finally:
            await _cancelled(detecting, guarding)

    async def _loop(self) -> None:
        watching = self.floor.watch(self.settings.status_seconds, self.heartbeat.recover)
        loops = [asyncio.create_task(loop) for loop in (self.heartbeat.run(), watching, self._poll())]
        try:
            await asyncio.gather(*loops)
        finally:
            await _cancelled(*loops)

    def _learn_tools(self, detecting: asyncio.Task[dict[str, str]]) -> None:
        """Say hello again between two polls, if the tools were found only after the first one."""
        if not detecting.cancelled():
            self._tools = detecting.result()
            self._hello_due = self.session.connected

    async def _resume(self) -> None:
        """Take up what an earlier agent left; jobs are followed whether or not the server can be reached."""
        entries = self.journal.open()
        known = {(entry.job_id, entry.fence) for entry in entries}
        unknown = [attempt for attempt in self._parts.supervisors.found() if attempt not in known]
        if self.journal.damaged:
            self.log.warning("journal_damaged", lines=self.journal.damaged)
            entries += [self._unjournaled(*attempt) for attempt in unknown]
        else:
            for attempt in unknown:
                self.spawn(self._parts.supervisors.discard(*attempt))
        for entry in entries:
            life = JobLife(entry, self._job_parts)
            self.slots.occupy(life)
            self._live(life, life.resume())

    def _unjournaled(self, job_id: str, fence: int) -> Entry:
        ids = self._parts.effects.ids
        return Entry(job_id, fence, "granted", start_key=ids.new("start"), finish_key=ids.new("finish"))

    async def _poll(self) -> None:
        while True:
            if self._refusal is not None:
                await self._return(self._refusal)
            if self._hello_due:
                self._hello_due = False
                await self._connect()
            self.floor.check()
            try:
                await self.poller.turn()
            except ProblemError as error:
                self._refused(error)
                if error.code not in LOST:
                    await asyncio.sleep(self.settings.poll.interval_seconds)
                    await self._connect()

    async def _reconnect(self, reason: str) -> None:
        self.log.warning("disconnected", reason=reason)
        await self._connect()

    async def _connect(self) -> None:
        failures = 0
        while True:
            failures += 1
            try:
                reply = await self.session.hello(self.slots.held)
            except CircuitOpen as pause:
                self.log.warning("connecting_paused", seconds=round(pause.wait_seconds))
                await self.client.breaker.wait(pause.wait_seconds)
            except (TransportError, ClientError) as error:
                self.log.warning("connecting_failed", reason=str(error))
                if isinstance(error, ProblemError) and error.code in LOST:
                    self._refused(error)
                    return
                longest = min(_LONGEST_CONNECT_WAIT_SECONDS, 0.25 * 2 ** min(failures, 10))
                await asyncio.sleep(self._parts.effects.random.uniform(0, longest))
            else:
                for directive in reply.directives:
                    self._direct(directive)
                return

    async def _return(self, refusal: ProblemError) -> None:
        """Enrol again after the server stopped accepting us."""
        self.session.connected = False
        if refusal.code == "runner_revoked":
            for life in self.slots.lives:
                life.abandon(refusal.code)
        await self.enrolment.again(refusal.problem)
        self.heartbeat.begin_anew()
        self._refusal = None
        await self._connect()

    def _refused(self, error: ProblemError) -> None:
        if error.code in LOST:
            self._refusal = self._refusal or error
            if error.code == "runner_revoked":
                for life in self.slots.lives:
                    life.abandon(error.code)
        elif not transient(error):
            self.log.error("refused", code=error.code, reason=str(error))

    async def _bye(self) -> None:
        try:
            await self.client.call(table.BYE, request=ByeRequest("drained"), deadline_seconds=_BYE_SECONDS, probe=True)
        except (TransportError, ProblemError, ReplyMalformed) as error:
            self.log.warning("bye_failed", reason=str(error))

    # Work: what polls and results bring, and where it goes.

    def take(self, poll: ClaimRequest, reply: ClaimReply) -> None:
        """Begin what a poll brought; nothing while a hello is under way, which does not name these claims."""
        for directive in reply.directives:
            self._direct(directive)
        for claim in reply.claims if self.session.connected else ():
            if self.slots.find(claim.job_id, claim.fence) is None:
                self._begin(claim)

    def next_poll(self, finished: Entry) -> ClaimRequest | None:
        """Return the poll that a result may carry."""
        self.floor.check()
        return self.slots.follow_up(finished.slot, (finished.job_id, finished.fence))

    def settle(self, finished: Entry) -> None:
        """See ``outbox.Follower``."""
        self.slots.settle(finished.slot)

    def fault(self, reason: str) -> None:
        """See ``job.Work``. Shown until the next look at the disk finds everything in order."""
        self.log.error("fault", reason=reason)
        self.heartbeat.error = reason

    def spawn(self, cleaning: Coroutine[object, object, None]) -> None:
        """See ``job.Work``."""
        task = asyncio.create_task(cleaning)
        self._tasks.add(task)
        task.add_done_callback(self._report)

    def _begin(self, claim: Claim) -> None:
        if not self.slots.open or self.slots.occupied(claim.slot):
            self.spawn(self._give_back(claim, "the runner takes no more work"))
            return
        ids = self._parts.effects.ids
        entry = Entry(
            claim.job_id,
            claim.fence,
            "starting",  # what its life does first; a hello that comes before must not call it merely claimed
            start_key=ids.new("start"),
            finish_key=ids.new("finish"),
            run_id=claim.run_id,
            kind=claim.kind,
            slot=claim.slot,
            lease_ms=claim.lease_ms,
        )
        life = JobLife(entry, self._job_parts)
        self.slots.occupy(life)
        self._live(life, life.run(claim.spec))
        if self.settings.single_run:
            self.drain()

    async def _give_back(self, claim: Claim, reason: str) -> None:
        try:
            await self.delivery.call(table.RELEASE, request=ReleaseRequest(claim.job_id, claim.fence, reason))
        except ProblemError as error:
            self.log.debug("release_refused", job_id=claim.job_id, code=error.code)

    def _live(self, life: JobLife, living: Coroutine[object, object, None]) -> None:
        async def live() -> None:
            try:
                await living
            finally:
                self.slots.vacate(life)
                self.finished_jobs += 1
                self._check_ended()

        self.spawn(live())

    def _report(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fault(f"{type(error).__name__}: {error}")

    def _direct(self, directive: Directive) -> None:
        life = self.slots.find(directive.job_id, directive.fence)
        if life is not None:
            life.direct(directive)

    def _check_ended(self) -> None:
        if self.slots.draining and not self.slots.lives:
            self._ended.set()

    # Making the parts.

    def _make_identity(self) -> RunnerIdentity:
        settings = self.settings
        return RunnerIdentity(
            self._parts.disk,
            self._parts.effects,
            self.log,
            audience=settings.service_url,
            applicant=Applicant(
                settings.name,
                settings.description,
                list(settings.labels),
                __version__,
                self._parts.machine.system(),
            ),
            token=settings.token,
        )

    def _make_client(self) -> Client:
        settings, effects = self.settings, self._parts.effects
        return Client(
            self._parts.transport,
            self.identity,
            settings.policy,
            effects,
            breaker=Breaker(settings.breaker_failures, settings.breaker_seconds, effects.clock),
            agent=f"ostler-agent/{__version__}",
        )

    def _make_session(self) -> Session:
        return Session(
            self.client,
            self.settings,
            self.log,
            self._parts.disk,
            system=self._parts.machine.system,
            tools=lambda: self._tools,
        )

    def _make_heartbeat(self) -> Heartbeat:
        return Heartbeat(
            self.client,
            self._parts.machine,
            self._parts.effects,
            self.log,
            interval=lambda: min(self.session.settings.heartbeat_ms / 1000, self.settings.status_seconds),
            lives=lambda: self.slots.lives,
            on_directive=self._direct,
            on_refused=self._refused,
        )

    def _make_poller(self) -> Poller:
        return Poller(
            self.client,
            self.slots,
            self._parts.effects,
            self.log,
            self.settings.poll,
            hold_ms=lambda: self.session.settings.hold_ms,
            on_reply=self.take,
            on_disconnected=self._reconnect,
        )

    def _make_job_parts(self) -> JobParts:
        return JobParts(
            journal=self.journal,
            outbox=self.outbox,
            supervisors=self._parts.supervisors,
            delivery=self.delivery,
            effects=self._parts.effects,
            environment=lambda: self.settings.environment,
            isolation=self.settings.isolation,
            network=self.settings.job_network,
            services=self.settings.services,
            chunk_bytes=lambda: self.session.settings.log_chunk_bytes,
            log=self.log,
            work=self,
            pace=Pace(),
        )


async def _cancelled(*tasks: asyncio.Task[object]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
