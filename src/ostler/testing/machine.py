"""The agent's machine and tools where there are none: a disk with some room, and nothing installed."""

from ostler.protocol.v1.runner_messages import Metrics, SystemInfo
from ostler.testing.node import Process


class SimMachine:
    """See `ostler.agent.machine.Machine`."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def system(self) -> SystemInfo:
        return SystemInfo(os="simulated", hostname=self._process.node.name)

    def metrics(self) -> Metrics:
        return Metrics(disk_free_bytes=self._process.disk.free_bytes())


class NoTools:
    """See `ostler.agent.capabilities.Tools`."""

    async def detect(self) -> dict[str, str]:
        return {}
