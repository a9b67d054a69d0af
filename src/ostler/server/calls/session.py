"""A runner's presence: hello with reconciliation, heartbeats, goodbye."""

from typing import Any

from ostler import __version__
from ostler.domain.lease import HEARTBEAT_SECONDS
from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.protocol.problem import problem
from ostler.protocol.v1.fleet_messages import StatusRequest
from ostler.protocol.v1.runner_messages import (
    PROTOCOL_VERSION,
    ByeRequest,
    Directive,
    HeartbeatReply,
    HeartbeatRequest,
    HelloReply,
    HelloRequest,
    RunnerSettings,
)
from ostler.protocol.v1.simple_table import SIMPLE_HEARTBEAT, SIMPLE_STATUS
from ostler.protocol.v1.table import BYE, HEARTBEAT, HELLO
from ostler.server.call import Call, Handlers, Refusal, accepted
from ostler.store import runners
from ostler.store.database import Database
from ostler.store.gathering import Gathering
from ostler.store.runners import Heartbeat

CAPABILITIES = ["held-polls", "finish-and-claim", "log-frames-1"]

_HOLD_MS = 30_000
_LOG_CHUNK_BYTES = 1024 * 1024


class SessionCalls:
    """See the module."""

    def __init__(self, database: Database, effects: Effects) -> None:
        self._database = database
        self._effects = effects
        # Each of thousands of runners sends one every few seconds: those of one moment share a transaction.
        self._heartbeats: Gathering[Heartbeat, list[Directive] | Refused] = Gathering(
            database, runners.heartbeat_many, effects.clock.now
        )

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {
            HELLO: self.hello,
            HEARTBEAT: self.heartbeat,
            BYE: self.bye,
            SIMPLE_HEARTBEAT: self.own_heartbeat,
            SIMPLE_STATUS: self.own_status,
        }

    async def hello(self, call: Call[HelloRequest]) -> HelloReply:
        """Note what the runner is, and settle what it still holds."""
        if call.body.protocol != PROTOCOL_VERSION:
            raise Refusal(
                problem(
                    "version_unsupported", f"this server speaks version {PROTOCOL_VERSION}, not {call.body.protocol}"
                )
            )
        now = self._effects.clock.now()
        welcome = accepted(await self._database.run(runners.hello, call.runner.runner_id, call.body, now))
        return HelloReply(
            protocol=PROTOCOL_VERSION,
            server_version=__version__,
            settings=RunnerSettings(
                heartbeat_ms=HEARTBEAT_SECONDS * 1000, hold_ms=_HOLD_MS, log_chunk_bytes=_LOG_CHUNK_BYTES
            ),
            capabilities=CAPABILITIES,
            directives=welcome.directives,
        )

    async def heartbeat(self, call: Call[HeartbeatRequest]) -> HeartbeatReply:
        """Renew all leases at once."""
        body = call.body
        beat = Heartbeat(call.runner.runner_id, body.leases, body.metrics, body.error)
        return HeartbeatReply(accepted(await self._heartbeats.ask(beat)))

    async def bye(self, call: Call[ByeRequest]) -> None:
        """Put the runner offline."""
        accepted(await self._database.run(runners.leave, call.runner.runner_id, self._effects.clock.now()))

    async def own_heartbeat(self, call: Call[HeartbeatRequest]) -> HeartbeatReply:
        """The same for clients that name themselves in the address."""
        require_own(call)
        return await self.heartbeat(call)

    async def own_status(self, call: Call[StatusRequest]) -> None:
        """Take a simple client's word on its own state."""
        require_own(call)
        now = self._effects.clock.now()
        body = call.body
        accepted(await self._database.run(runners.report, call.runner.runner_id, body.status, body.error, now))


def require_own(call: Call[Any]) -> None:
    """Refuse a runner that speaks for another."""
    if call.path["runner_id"] != call.runner.runner_id:
        raise Refusal(problem("forbidden", "a runner may only speak for itself"))
