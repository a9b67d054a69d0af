"""The agent's side of a job's life: claim, start, give back, finish."""

import asyncio
import contextlib

import msgspec

from ostler.effects import Effects
from ostler.protocol.problem import problem
from ostler.protocol.v1.runner_messages import (
    Claim,
    ClaimReply,
    ClaimRequest,
    Directive,
    FinishReply,
    FinishRequest,
    ReleaseRequest,
    StartReply,
    StartRequest,
)
from ostler.protocol.v1.table import CLAIM, FINISH, RELEASE, START
from ostler.server.authentication import Authentication
from ostler.server.call import Call, Handlers, Refusal, accepted
from ostler.server.dispatch import Dispatcher
from ostler.server.held_polls import Told
from ostler.server.log_store import checked
from ostler.server.metrics import Metrics
from ostler.server.rounds import HandedIn
from ostler.store import attempts
from ostler.store.attempts import LogIncomplete, Start
from ostler.store.claims import Claimed
from ostler.store.database import Database
from ostler.store.sealing import Sealer
from ostler.store.submissions import opened

_MOVE_ON_MS = 500


class WorkCalls:
    """See the module."""

    def __init__(
        self,
        database: Database,
        authentication: Authentication,
        dispatcher: Dispatcher,
        sealer: Sealer,
        effects: Effects,
        metrics: Metrics,
    ) -> None:
        self._database = database
        self._authentication = authentication
        self._dispatcher = dispatcher
        self._sealer = sealer
        self._effects = effects
        self._metrics = metrics

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {CLAIM: self.claim, START: self.start, RELEASE: self.release, FINISH: self.finish}

    async def claim(self, call: Call[ClaimRequest]) -> ClaimReply:
        """Hold the poll until there is work or a directive, or its time is over."""
        runner_id = call.runner.runner_id
        if not call.body.wait_ms:
            return await self._look(runner_id, call.body)
        return await self._poll(runner_id, call.body, call.left)

    async def start(self, call: Call[StartRequest]) -> StartReply:
        """Give the durable grant."""
        body = call.body
        granted = await self._dispatcher.start(Start(call.runner.runner_id, body.job_id, body.fence, body.key))
        started = accepted(granted)
        token = self._authentication.issue_to_job(started.run_id, body.job_id, body.fence)
        return StartReply(started.directive, token)

    async def release(self, call: Call[ReleaseRequest]) -> None:
        """Take a claim back."""
        now = self._effects.clock.now()
        body = call.body
        accepted(await self._database.run(attempts.release, call.runner.runner_id, body.job_id, body.fence, now))

    async def finish(self, call: Call[FinishRequest]) -> FinishReply:
        """Record the result; what follows at once is the answer to the next poll, if one was carried."""
        runner_id, following = call.runner.runner_id, call.body.next
        result = await _handed_in(runner_id, call.body)
        if following is None:
            settled, reply = await self._dispatcher.finish(result), None
        else:
            # Asked for together, both are decided by one transaction: the slot is free when the next job is looked for.
            reply, settled = await asyncio.gather(self._look(runner_id, following), self._dispatcher.finish(result))
        settled = accepted(settled)
        if isinstance(settled, LogIncomplete):
            raise Refusal(
                problem("log_incomplete", f"{settled.expected} bytes of the log are stored", expected=settled.expected)
            )
        if not settled.repeated:
            self._metrics.jobs_finished.labels(call.body.conclusion).inc()
            self._metrics.log_bytes.inc(result.chunk.length if result.chunk else 0)
        return FinishReply(settled.state.value, reply)

    async def _look(self, runner_id: str, request: ClaimRequest) -> ClaimReply:
        """Answer a poll that does not wait."""
        outcome, directives = await asyncio.gather(
            self._dispatcher.hold(runner_id, request.slots, request.key, 0), self._renewed(runner_id, request)
        )
        if not isinstance(outcome, Told):
            return ClaimReply(claims=[self._claim(claimed) for claimed in outcome], directives=directives)
        return ClaimReply(directives=directives, retry_after_ms=_MOVE_ON_MS if outcome.draining else None)

    async def _poll(self, runner_id: str, request: ClaimRequest, left: "asyncio.Future[None] | None") -> ClaimReply:
        ends = self._effects.clock.monotonic() + request.wait_ms / 1000
        while True:
            with self._dispatcher.attending(runner_id) as attention:
                directives = await self._renewed(runner_id, request)
                if directives:
                    return ClaimReply(directives=directives)
                seconds = max(0.0, ends - self._effects.clock.monotonic())
                outcome = await self._dispatcher.hold(runner_id, request.slots, request.key, seconds, left, attention)
            if not isinstance(outcome, Told):
                return ClaimReply(claims=[self._claim(claimed) for claimed in outcome])
            if outcome.draining:
                return ClaimReply(retry_after_ms=_MOVE_ON_MS)
            if outcome.final or self._effects.clock.monotonic() >= ends:
                return ClaimReply()
            await self._authentication.admit(runner_id)

    async def _renewed(self, runner_id: str, request: ClaimRequest) -> list[Directive]:
        return await self._dispatcher.renew(runner_id, request.leases) if request.leases else []

    def bare_claim(self, claimed: Claimed) -> Claim:
        """Return a claim as people may see it: secrets only by name."""
        claim = self._claim(claimed)
        hidden = dict.fromkeys(claim.spec.secrets, "")
        return msgspec.structs.replace(claim, spec=msgspec.structs.replace(claim.spec, secrets=hidden))

    def _claim(self, claimed: Claimed) -> Claim:
        return Claim(
            job_id=claimed.job_id,
            run_id=claimed.run_id,
            fence=claimed.fence,
            kind=claimed.kind,
            slot=claimed.slot,
            lease_ms=claimed.lease_micros // 1000,
            spec=opened(claimed.job_id, claimed.spec, claimed.sealed, self._sealer),
        )


async def _handed_in(runner_id: str, request: FinishRequest) -> HandedIn:
    """Check what a result carries of the log; without what is damaged the log is incomplete, which will be said."""
    if request.log:
        with contextlib.suppress(Refusal):
            chunk, lines = await checked(request.log_offset, request.log)
            return HandedIn(runner_id, request, chunk, lines)
    return HandedIn(runner_id, request)
