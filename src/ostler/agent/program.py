"""The process of ``ostler agent run``: one runner, or several independent ones, their signals and their health.

SIGTERM or SIGINT drains: running jobs finish, then the runner says bye. A second one cancels the jobs, a third one
leaves at once. SIGHUP leaves at once too and is meant for upgrades and restarts: supervisors go on, and the next agent
adopts their jobs.
"""

import asyncio
import signal
from collections.abc import Sequence

from ostler.agent.agent import Agent
from ostler.agent.health import Health, serve_health
from ostler.agent.logging import Log
from ostler.agent.metrics import contact, exposition
from ostler.client.transport import Transport
from ostler.effects import Clock


class Program:
    """Runs agents that share one transport until all have ended."""

    def __init__(
        self,
        agents: Sequence[Agent],
        transport: Transport,
        clock: Clock,
        log: Log,
        *,
        health_port: int,
        unhealthy_after: float,
    ) -> None:
        self.agents = list(agents)
        self._transport = transport
        self._clock = clock
        self._log = log
        self._health_port = health_port
        self._unhealthy_after = unhealthy_after
        self._stops = 0

    async def run(self) -> None:
        """Return when every runner has ended; raise the first reason for which one could not go on."""
        self._listen_to_signals()
        server = await serve_health(self._health(), self._health_port, self._log) if self._health_port else None
        running = [asyncio.create_task(agent.run()) for agent in self.agents]
        try:
            await asyncio.gather(*running)
        finally:
            for agent in self.agents:
                agent.detach()
            await asyncio.gather(*running, return_exceptions=True)
            if server is not None:
                server.close()
            await self._transport.close()

    def stop(self) -> None:
        """One step more on the way out."""
        self._stops += 1
        for agent in self.agents:
            if self._stops == 1:
                agent.drain()
            elif self._stops == 2:
                agent.cancel("the runner is being stopped")
            else:
                agent.detach()

    def detach(self) -> None:
        """Leave at once; jobs go on."""
        for agent in self.agents:
            agent.detach()

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        loop.add_signal_handler(signal.SIGHUP, self.detach)

    def _health(self) -> Health:
        return Health(
            contacts=lambda: [contact(agent, self._clock, self._unhealthy_after) for agent in self.agents],
            exposition=lambda: exposition(self.agents, self._clock, self._unhealthy_after),
        )
