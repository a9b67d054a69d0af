"""The troublemaker: kills, pauses, parts and restarts machines while a scenario runs.

It acts in turns. In each it picks a node and draws every fault that can befall it; each trouble lasts a while and is
then undone. When its time is up everything is healed and every program runs again, because what must happen in the end
is only owed in a world that lets it.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

from ostler.testing.faults import Fault
from ostler.testing.node import Node, Program
from ostler.testing.world import World

TURN_SECONDS = 15.0
SHORTEST_TROUBLE_SECONDS = 0.01
LONGEST_TROUBLE_SECONDS = 120.0


class Chaos:
    """Keeps one program running on each node, against its own efforts."""

    def __init__(
        self, world: World, programs: Mapping[Node, Program], *, longest_seconds: float = LONGEST_TROUBLE_SECONDS
    ) -> None:
        self._world = world
        self._longest = longest_seconds
        self._programs = dict(programs)
        self._nodes = list(self._programs)
        self._troubles: dict[asyncio.Task[None], None] = {}

    def boot(self) -> None:
        """Start what does not run."""
        for node, program in self._programs.items():
            if node.running() is None:
                node.start(program)

    @property
    def over(self) -> bool:
        """Whether every program runs and none is still about to end because of what it was told."""
        running = [node.running() for node in self._programs]
        return all(process is not None and not process.told_to_end for process in running)

    async def rage(self, seconds: float) -> None:
        """Make trouble for so long, then heal everything."""
        loop, random = self._world.loop, self._world.random
        until = loop.time() + seconds
        while loop.time() < until:
            await asyncio.sleep(random.uniform(0, 2 * TURN_SECONDS))
            self._turn(random.choice(self._nodes))
        self._world.faults.enabled = False
        for trouble in self._troubles:
            trouble.cancel()
        await asyncio.gather(*self._troubles, return_exceptions=True)
        self._world.network.heal_all()
        for node in self._nodes:
            node.resume()
        self.boot()

    def _turn(self, node: Node) -> None:
        faults, random = self._world.faults, self._world.random
        self._boot_later()
        alive = [process for process in node.processes if process.alive]
        if alive and faults.fires(Fault.KILL):
            random.choice(alive).kill()
        main = node.running()
        if main is not None and faults.fires(Fault.RESTART):
            main.terminate()
        if faults.fires(Fault.POWER_LOSS):
            node.crash()
        if faults.fires(Fault.CLOCK_JUMP):
            node.clock.jump(random.uniform(-86_400, 86_400))
        if faults.fires(Fault.PAUSE):
            self._start(self._pause(node))
        if faults.drawn(Fault.PARTITION):
            self._start(self._part(node))
        if faults.drawn(Fault.DISK_FULL):
            self._start(self._fill(node))

    def _boot_later(self) -> None:
        """Something else brings the dead back: an operator, systemd, Kubernetes."""
        self._world.loop.call_later(self._duration() / 4, self.boot)

    def _duration(self) -> float:
        """Short troubles are as likely as long ones, by order of magnitude."""
        ratio = self._longest / SHORTEST_TROUBLE_SECONDS
        return SHORTEST_TROUBLE_SECONDS * ratio ** self._world.random.uniform(0, 1)

    def _start(self, trouble: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(trouble)
        self._troubles[task] = None
        task.add_done_callback(lambda done: self._troubles.pop(done, None))

    async def _pause(self, node: Node) -> None:
        node.pause()
        try:
            await asyncio.sleep(self._duration())
        finally:
            node.resume()

    async def _part(self, node: Node) -> None:
        """Cut one direction, or both, between this node and all others."""
        network, random = self._world.network, self._world.random
        directions = random.choice(("out", "in", "both"))
        others = [other.name for other in self._nodes if other is not node]
        cuts = [(node.name, other) for other in others if directions != "in"]
        cuts += [(other, node.name) for other in others if directions != "out"]
        for sender, receiver in cuts:
            network.cut(sender, receiver)
        try:
            await asyncio.sleep(self._duration())
        finally:
            for sender, receiver in cuts:
                network.heal(sender, receiver)

    async def _fill(self, node: Node) -> None:
        """Somebody else fills the disk."""
        node.disk.full = True
        try:
            await asyncio.sleep(self._duration())
        finally:
            node.disk.full = False
