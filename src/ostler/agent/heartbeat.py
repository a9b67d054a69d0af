"""The heartbeat: renews every lease, reports how the machine is doing, and lets go of what we no longer hold.

It is also the probe of a server that was away: it goes out while the circuit breaker is open. A job that may be run
again elsewhere is killed here when its lease could not be renewed for as long as it lasts (self-fencing), measured by
the monotonic clock from when the last successful renewal was *sent*.
"""

import asyncio
from collections.abc import Callable, Iterable

from ostler.agent.job import JobLife
from ostler.agent.logging import Log
from ostler.agent.machine import Machine
from ostler.client.caller import Client
from ostler.client.errors import ProblemError, ReplyMalformed
from ostler.client.transport import TransportError
from ostler.effects import Effects
from ostler.protocol.v1 import table
from ostler.protocol.v1.runner_messages import Directive, HeartbeatRequest, LeaseRef

_SHORTEST_SECONDS = 0.05
_LOOK_SECONDS = 5.0


class Heartbeat:
    """One per runner. ``interval`` is asked before each beat, as the server may change it."""

    def __init__(
        self,
        client: Client,
        machine: Machine,
        effects: Effects,
        log: Log,
        *,
        interval: Callable[[], float],
        lives: Callable[[], Iterable[JobLife]],
        on_directive: Callable[[Directive], None],
        on_refused: Callable[[ProblemError], None],
    ) -> None:
        self._client = client
        self._machine = machine
        self._effects = effects
        self._log = log
        self._interval = interval
        self._lives = lives
        self._on_directive = on_directive
        self._on_refused = on_refused
        self.error = ""
        """What is wrong with this runner; sent until it is cleared."""
        self.last_success = effects.clock.monotonic()
        self._runners = 1

    def begin_anew(self) -> None:
        """The runner has enrolled again: the refusal of a beat that is still under way is about whom it was."""
        self._runners += 1

    def recover(self) -> None:
        """Nothing is wrong any more."""
        self.error = ""

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            interval = self._interval() * self._effects.random.uniform(0.9, 1.0)
            due = self._effects.clock.monotonic() + interval
            await self.beat(interval)
            while (wait := due - self._effects.clock.monotonic()) > 0:
                await asyncio.sleep(min(wait, self._until_first_lapse()))
                self.fence()

    async def guard(self) -> None:
        """Fence until cancelled, while there is no connection over which to beat: jobs are adopted before the hello."""
        while True:
            await asyncio.sleep(min(_LOOK_SECONDS, self._until_first_lapse()))
            self.fence()

    async def beat(self, deadline_seconds: float) -> None:
        """Send one heartbeat; a failure only means that the next one comes."""
        sent_at, runner = self._effects.clock.monotonic(), self._runners
        lives = list(self._lives())
        request = HeartbeatRequest(
            leases=[LeaseRef(life.entry.job_id, life.entry.fence) for life in lives],
            metrics=self._machine.metrics(),
            error=self.error,
        )
        deadline = max(_SHORTEST_SECONDS, min(deadline_seconds, self._until_first_lapse()))
        try:
            reply = await self._client.call(table.HEARTBEAT, request=request, deadline_seconds=deadline, probe=True)
        except ProblemError as error:
            self._log.warning("heartbeat_refused", code=error.code, reason=str(error))
            if runner == self._runners:
                self._on_refused(error)
            return
        except (TransportError, ReplyMalformed) as error:
            self._log.warning("heartbeat_failed", reason=str(error))
            return
        finally:
            self.fence()
        self.last_success = self._effects.clock.monotonic()
        for life in lives:
            life.renewed_at = max(life.renewed_at, sent_at)
        for directive in reply.directives:
            self._on_directive(directive)

    def fence(self) -> None:
        """Abandon what may already run elsewhere."""
        now = self._effects.clock.monotonic()
        for life in list(self._lives()):
            if _fenceable(life) and now > _lapse(life):
                life.abandon("lease_lapsed")

    def _until_first_lapse(self) -> float:
        lapses = [_lapse(life) for life in self._lives() if _fenceable(life)]
        left = min(lapses) - self._effects.clock.monotonic() if lapses else 3600.0
        return max(_SHORTEST_SECONDS, left)


def _lapse(life: JobLife) -> float:
    return life.renewed_at + life.entry.lease_ms / 1000


def _fenceable(life: JobLife) -> bool:
    """A result that is there is kept until the server has judged it; the fence decides then."""
    return life.entry.kind.redeliverable and life.entry.phase != "finished"
