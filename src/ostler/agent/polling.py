"""The held poll: one request is always out, answered the moment there is work or a directive.

When the slots change, a poll that is out no longer says the truth and is replaced; not at once, because with short
jobs the next claim comes with the answer to the last result. A poll that asked for work keeps its key until its reply
has been read: whatever the server gave to a reply that was lost, it gives again.

A server that cannot hold polls says when to come back (Retry-After); ``polling_interval`` is the pause when it says
nothing, or when the configuration overrides it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from ostler.agent.delivery import transient
from ostler.agent.logging import Log
from ostler.agent.slots import Slots
from ostler.client.caller import Client
from ostler.client.errors import CircuitOpen, ProblemError, ReplyMalformed
from ostler.client.transport import TransportError
from ostler.effects import Effects
from ostler.protocol.v1 import table
from ostler.protocol.v1.runner_messages import ClaimReply, ClaimRequest

SETTLE_SECONDS = 0.1
HOLD_MARGIN_SECONDS = 10.0

_EARLY = 0.5
_PATIENT_REPLIES = 2
_CALM_SECONDS = 5.0
"""An empty reply this long after the one before it says nothing about the server's ability to hold polls."""


class PollRules(NamedTuple):
    """The pauses, from the configuration."""

    interval_seconds: float = 60.0
    ignore_retry_after: bool = False


class Poller:
    """One per runner."""

    def __init__(
        self,
        client: Client,
        slots: Slots,
        effects: Effects,
        log: Log,
        rules: PollRules,
        *,
        hold_ms: Callable[[], int],
        on_reply: Callable[[ClaimRequest, ClaimReply], None],
        on_disconnected: Callable[[str], Awaitable[None]],
    ) -> None:
        self._client = client
        self._slots = slots
        self._effects = effects
        self._log = log
        self._rules = rules
        self._hold_ms = hold_ms
        self._on_reply = on_reply
        self._on_disconnected = on_disconnected
        self._unanswered: ClaimRequest | None = None
        self._early = 0
        self._rested_at = effects.clock.monotonic()
        self._told: set[tuple[str, int, str]] = set()
        self.last_success = effects.clock.monotonic()

    async def turn(self) -> None:
        """Poll once and act on the outcome, pauses included. Raises ``ProblemError`` if the runner is refused."""
        try:
            await self._poll()
        except CircuitOpen as pause:
            self._log.warning("polling_paused", seconds=round(pause.wait_seconds))
            await self._client.breaker.wait(pause.wait_seconds)
        except TransportError as error:
            await self._on_disconnected(error.reason)
        except ReplyMalformed as error:
            self._log.warning("poll_unreadable", reason=str(error))
            await asyncio.sleep(self._rules.interval_seconds)
        except ProblemError as error:
            if not transient(error):
                raise
            self._log.warning("poll_refused", code=error.code, reason=str(error))
            await asyncio.sleep(self._effects.random.uniform(0.5, 1.0) * min(self._rules.interval_seconds, 5.0))

    async def _poll(self) -> None:
        request = self._next()
        began = self._effects.clock.monotonic()
        reply = await self._hold(request)
        if reply is None:
            return
        self._unanswered = None
        self.last_success = self._effects.clock.monotonic()
        self._on_reply(request, reply)
        await self._rest(request, reply, self.last_success - began)

    def _next(self) -> ClaimRequest:
        request = self._slots.poll(self._hold_ms())
        if self._unanswered is not None and request.slots:
            request = ClaimRequest(self._unanswered.key, request.slots, request.wait_ms, request.leases)
        if request.slots:
            self._unanswered = request
        return request

    async def _hold(self, request: ClaimRequest) -> ClaimReply | None:
        """Return the reply, or nothing if the slots changed in a way that calls for another poll."""
        self._slots.changed.clear()
        call = asyncio.create_task(self._call(request))
        try:
            while True:
                await self._news(call)
                if call.done():
                    return call.result()
                if not self._still_true(request):
                    return None
                self._slots.changed.clear()
        finally:
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)

    async def _news(self, call: asyncio.Task[ClaimReply]) -> None:
        changed = asyncio.create_task(self._slots.changed.wait())
        try:
            await asyncio.wait({call, changed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
        if not call.done():
            await asyncio.wait({call}, timeout=SETTLE_SECONDS)

    async def _call(self, request: ClaimRequest) -> ClaimReply:
        deadline = request.wait_ms / 1000 + HOLD_MARGIN_SECONDS
        return await self._client.call(table.CLAIM, request=request, deadline_seconds=deadline, reconnect=False)

    def _still_true(self, request: ClaimRequest) -> bool:
        now = self._slots.poll(request.wait_ms)
        return now.slots == request.slots and now.leases == request.leases

    async def _rest(self, request: ClaimRequest, reply: ClaimReply, took_seconds: float) -> None:
        if reply.retry_after_ms is not None:
            wait = self._rules.interval_seconds if self._rules.ignore_retry_after else reply.retry_after_ms / 1000
            await asyncio.sleep(wait)
            return
        told = {(each.job_id, each.fence, each.action) for each in reply.directives}
        news = bool(reply.claims) or bool(told - self._told)
        held = took_seconds > _EARLY * request.wait_ms / 1000
        self._told = told
        if news or held or self._effects.clock.monotonic() - self._rested_at > _CALM_SECONDS:
            self._early = 0
        if not (news or held):
            # Nothing to do before its time: the server was restarted or cannot hold polls. Patient at first, then slow.
            self._early += 1
            if self._early > _PATIENT_REPLIES:
                longest = min(self._rules.interval_seconds, 0.5 * 2 ** min(self._early - _PATIENT_REPLIES, 10))
                await asyncio.sleep(self._effects.random.uniform(0.5, 1.0) * longest)
        self._rested_at = self._effects.clock.monotonic()
