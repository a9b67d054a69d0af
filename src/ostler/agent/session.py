"""The connection to the control plane: who we are, what we hold, and what the server makes of it.

A *hello* opens every connection and follows every loss of one. It names each attempt in the journal; the server
answers with a verdict on each, so that both sides agree again before new work begins.
"""

from collections.abc import Callable

from ostler import __version__
from ostler.agent.capabilities import CAPABILITIES
from ostler.agent.disk import Disk
from ostler.agent.errors import ProtocolRefused
from ostler.agent.logging import Log
from ostler.agent.parts import AgentSettings
from ostler.client.caller import Client
from ostler.client.errors import ProblemError
from ostler.protocol.v1 import table
from ostler.protocol.v1.runner_messages import (
    PROTOCOL_VERSION,
    HeldAttempt,
    HelloReply,
    HelloRequest,
    RunnerSettings,
    SystemInfo,
)

SEQUENCE_PATH = "hellos"


class Session:
    """One per runner."""

    def __init__(
        self,
        client: Client,
        settings: AgentSettings,
        log: Log,
        disk: Disk,
        *,
        system: Callable[[], SystemInfo],
        tools: Callable[[], dict[str, str]],
    ) -> None:
        self._client = client
        self._told = settings
        self._log = log
        self._disk = disk
        self._sequence: int | None = None
        self._system = system
        self._tools = tools
        self.settings = RunnerSettings(heartbeat_ms=10_000, hold_ms=50_000, log_chunk_bytes=256 << 10)
        self.connected = False
        self._met = False

    async def hello(self, held: list[HeldAttempt]) -> HelloReply:
        """Connect; raises what the client raises, and ``ProtocolRefused`` if the versions do not fit.

        Before the first contact there is no heartbeat that could end a pause, so nothing of ours counts as a failure.
        """
        first = not self._met
        self.connected = False
        request = HelloRequest(
            protocol=PROTOCOL_VERSION,
            version=__version__,
            capabilities=list(CAPABILITIES),
            tools=self._tools(),
            labels=list(self._told.labels),
            job_kinds=list(self._told.job_kinds),
            environment=sorted(self._told.environment),
            isolation=self._told.isolation,
            system=self._system(),
            held=held,
            sequence=self._next_sequence(),
        )
        try:
            reply = await self._client.call(table.HELLO, request=request, probe=first)
        except ProblemError as error:
            if error.code == "version_unsupported":
                raise ProtocolRefused(str(error), fix="Upgrade the agent or the server, whichever is older.") from error
            raise
        self.settings = reply.settings
        self.connected = self._met = True
        self._log.info("connected", server_version=reply.server_version, held=len(held))
        return reply

    def _next_sequence(self) -> int:
        """Number this hello, higher than any before it, so that a late copy of an older one is known for what it is."""
        if self._sequence is None:
            try:
                self._sequence = int(self._disk.read(SEQUENCE_PATH))
            except (FileNotFoundError, ValueError):
                self._sequence = 0
        self._sequence += 1
        try:
            self._disk.write(SEQUENCE_PATH, b"%d" % self._sequence)
        except OSError as error:
            self._log.warning("sequence_not_kept", reason=str(error))
        return self._sequence
