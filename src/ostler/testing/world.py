"""One simulated world: everything that a scenario puts its programs into."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple

from ostler.effects import seeded_random
from ostler.testing.faults import Fault, Faults, planned
from ostler.testing.history import History
from ostler.testing.loop import SimLoop
from ostler.testing.network import Network
from ostler.testing.node import Node
from ostler.testing.run import run

Scenario = Callable[["World"], Coroutine[Any, Any, None]]


class World:
    """The parts of one run; `sabotage` names the bugs that a scenario shall plant, to prove that they are found."""

    def __init__(
        self,
        seed: int,
        *,
        rates: Mapping[Fault, float] | None = None,
        sabotage: frozenset[str] = frozenset(),
        max_seconds: float = 400_000.0,
    ) -> None:
        self.seed = seed
        self.sabotage = sabotage
        self.loop = SimLoop(seed, max_seconds=max_seconds)
        self.random = seeded_random(f"{seed}/world")
        plan = planned(seeded_random(f"{seed}/plan")) if rates is None else rates
        self.faults = Faults(seeded_random(f"{seed}/faults"), plan)
        self.network = Network(self.loop, seeded_random(f"{seed}/network"), self.faults)
        self.history = History(self.loop)
        self.nodes: dict[str, Node] = {}

    def node(self, name: str, *, capacity: int = 1 << 40) -> Node:
        """A new machine."""
        node = self.nodes[name] = Node(name, self.loop, self.faults, capacity=capacity)
        return node


class Report(NamedTuple):
    """What one run took and which faults it survived."""

    seed: int
    fingerprint: str
    steps: int
    seconds: float
    faults: Mapping[Fault, int]
    jobs: int


def simulate(world: World, scenario: Scenario) -> Report:
    """Run the scenario and judge the history; raises the finding if there is one."""
    outcome = run(world.seed, lambda: _main(world, scenario), loop=world.loop)
    return Report(
        seed=world.seed,
        fingerprint=outcome.fingerprint,
        steps=outcome.steps,
        seconds=outcome.seconds,
        faults=dict(world.faults.counts),
        jobs=len(world.history.jobs),
    )


async def _main(world: World, scenario: Scenario) -> None:
    await scenario(world)
    world.history.close()
