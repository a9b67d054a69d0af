"""The whole product in one simulated world: real servers over a real database, real agents, and people who use them.

What is simulated is what the programs touch: time, network, disks, the wire to the database, and the jobs' processes.
A run has two parts. First everything goes wrong for a while. Then all is healed, and what was promised is due: every
accepted run ends, every runner comes back, and what people ask for from then on happens at once.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from ostler.agent.agent import Agent
from ostler.agent.errors import EnrolmentRefused
from ostler.agent.logging import Level, Log, Value
from ostler.agent.parts import AgentParts, AgentSettings
from ostler.blobs.memory import MemoryBlobs
from ostler.effects import Effects, SortableIds, seeded_random
from ostler.protocol.v1.fleet_messages import CreateTokenRequest
from ostler.server.keys import MasterKey
from ostler.server.log_store import LogStore
from ostler.server.metrics import Metrics
from ostler.server.settings import ServerSettings
from ostler.server.wiring import Control
from ostler.store import runners, sign_in, tokens
from ostler.store.inline import InlineDatabase
from ostler.store.tokens import NewToken
from ostler.testing.chaos import Chaos
from ostler.testing.database import SimDatabase
from ostler.testing.errors import PromiseBroken
from ostler.testing.faults import Fault
from ostler.testing.machine import NoTools, SimMachine
from ostler.testing.node import Node, NodeClock, Process
from ostler.testing.observer import ENDED, Observer
from ostler.testing.people import People, Submission
from ostler.testing.server_logs import traced_servers
from ostler.testing.supervisors import Attempts, SimSupervisors
from ostler.testing.told import ToldTransport
from ostler.testing.world import World

HOST: Final = "control.test"
AGENTS: Final = 3
JOBS: Final = 10
SETTLING_SECONDS: Final = 1800.0
CALM_SECONDS: Final = 120.0
FENCED_SECONDS: Final = 60.0
"""An agent that has run undisturbed for so long has killed what the server may have given to another."""

_LOOK_SECONDS = 5.0
_REPAIR_SECONDS = 400.0
_IDENTITIES = 20
_DAY_MS = 86_400_000


async def scenario(world: World, *, longest_seconds: float | None = None) -> None:
    """The default of a campaign; the longest trouble is drawn from the seed unless it is given."""
    with traced_servers():
        platform = Platform(world, longest_seconds)
        await platform.trouble()
        await platform.settle()
        await platform.calm()
        await platform.judge()


async def long_troubles(world: World) -> None:
    """Few kinds of fault, but often and for so long that every lease and every silence runs out."""
    world.faults.rates = {Fault.PAUSE: 0.5, Fault.PARTITION: 0.5, Fault.DELAY: 0.3}
    await scenario(world, longest_seconds=1500.0)


class Platform:
    """See the module."""

    def __init__(self, world: World, longest_seconds: float | None = None) -> None:
        self.world = world
        self.database = InlineDatabase()
        self.observer = Observer(self.database, world.history, world.loop)
        self.blobs: dict[str, bytes] = {}
        self.attempts: dict[str, Attempts] = {}
        self._identities: dict[str, int] = {}
        self._once_revoked: set[str] = set()
        self._key = MasterKey(bytes(32))
        clock = NodeClock(world.loop)
        random = seeded_random(f"{world.seed}/platform")
        self._effects = Effects(clock, SortableIds(clock, random), random)
        self._prepare()
        people = world.node("people")
        self.people = People(world, HOST, "osta_people", self._renounce)
        programs = {people: self.people.program}
        self.servers = [world.node(f"server{number}") for number in range(1 + world.random.below(2))]
        for server in self.servers:
            server.clock = self.servers[0].clock  # replicas must agree on the time
            programs[server] = self._server
        self.agents = [world.node(f"agent{number}") for number in range(AGENTS)]
        for agent in self.agents:
            self.attempts[agent.name] = Attempts(agent, world.history, world.faults)
            programs[agent] = self._agent
        drawn = 1000.0 if world.random.below(4) == 0 else 100.0
        longest = drawn if longest_seconds is None else longest_seconds
        self._rage = 1.5 * longest + 150.0
        self.chaos = Chaos(world, programs, longest_seconds=longest)
        world.history.watchers.append(self._overlap)

    # The parts of a run.

    async def trouble(self) -> None:
        """Use the platform while it is broken again and again."""
        self.people.plan(JOBS, self._rage, [agent.name for agent in self.agents])
        self.chaos.boot()
        await self.chaos.rage(self._rage)

    async def settle(self) -> None:
        """Heal everything and wait until all that was promised has happened.

        A runner that stays revoked is given a new registration token, as people do: the one that they gave it before
        they revoked it may have been used too early. So is one that was revoked and has left the list since. One that
        comes back paused, because it was not in the list when it was resumed, is resumed again. Nobody else needs help.
        """
        repair = self.world.loop.time() + _REPAIR_SECONDS
        away = {agent.name for agent in self.agents} - {facts.name for facts in self.database.read_now(runners.facts)}
        self.people.undo([agent.name for agent in self.agents])
        until = self.world.loop.time() + SETTLING_SECONDS
        while not (self.chaos.over and self.people.done and self._ended() and not self._missing()):
            if self.world.loop.time() > until:
                raise PromiseBroken(self._unsettled())
            self.chaos.boot()
            await asyncio.sleep(_LOOK_SECONDS)
            if self.world.loop.time() > repair:
                repair += _REPAIR_SECONDS
                for name in self._kept_out():
                    self._renounce(name)
                self.people.undo([name for name in self._held_back() if name in away])

    async def calm(self) -> None:
        """Without troubles everything must work at once."""
        self.world.history.calm = True
        names = self.people.ask_calmly()
        until = self.world.loop.time() + CALM_SECONDS
        while not (self.people.done and self._ended()):
            if self.world.loop.time() > until:
                raise PromiseBroken(self._unsettled())
            await asyncio.sleep(1.0)
        for name, expected in names.items():
            job = self.people.accepted[name].job_id
            ends = self.world.history.jobs[job].ends
            if [result for _, result in ends] != [expected]:
                raise PromiseBroken(f"{job}: a calm job should have ended as {expected}, not as {ends}")
        await asyncio.sleep(10.0)

    async def judge(self) -> None:
        """Read what is stored, and compare it with what happened."""
        store = LogStore(self.database, MemoryBlobs(self.blobs), self._effects, Metrics())
        for job, record in self.world.history.jobs.items():
            for fence in range(1, record.fence + 1):
                text = b"".join([frame.text async for frame in store.frames_from(job, fence)])
                self.world.history.stored(job, fence, text)
        lost = [name for name, run in self.people.accepted.items() if run.job_id not in self.world.history.jobs]
        if lost:
            raise PromiseBroken(f"accepted and lost: {lost}")

    # The programs.

    async def _server(self, process: Process) -> None:
        world = self.world
        database = SimDatabase(process, self.database, world.faults, self.observer.committed)
        settings = ServerSettings(database="simulated", blobs="simulated")
        control = Control(settings, self._key, database, MemoryBlobs(self.blobs), process.effects)
        serving = asyncio.create_task(world.network.serve(process, HOST, control.application))
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            control.drain()
            await asyncio.sleep(1.0)
            serving.cancel()
            await asyncio.wait([serving])

    async def _agent(self, process: Process) -> None:
        name = process.node.name
        transport = ToldTransport(self.world.network.transport(process, HOST), self.world.history)
        agent = Agent(
            AgentParts(
                settings=AgentSettings(
                    name=name,
                    service_url=f"http://{HOST}",
                    token=lambda: registration_token(name, self._identities[name]),
                    minimum_free_bytes=1 << 20,
                ),
                effects=process.effects,
                transport=transport,
                disk=process.disk,
                supervisors=SimSupervisors(process, self.attempts[name]),
                machine=SimMachine(process),
                tools=NoTools(),
                log=Log(lambda level, record: _trace(process, level, record), process.effects.clock),
            )
        )
        running = asyncio.create_task(agent.run())
        with suppress(OSError, EnrolmentRefused):  # it ends, and is started again
            try:
                await asyncio.shield(running)
            except asyncio.CancelledError:
                process.effects.random.choice((agent.detach, agent.drain))()
                await running

    def _prepare(self) -> None:
        now = self._effects.clock.now()
        self.database.run_now(sign_in.ensure_user, "usr_people", "people", "owner", now)
        api = CreateTokenRequest(kind="api", name="people", ttl_ms=366 * _DAY_MS)
        self.database.run_now(tokens.create, NewToken(id="tok_0", secret="osta_people", user_id="usr_people"), api, now)
        for number in range(AGENTS):
            self._identities[f"agent{number}"] = 0
            for identity in range(_IDENTITIES):
                secret = registration_token(f"agent{number}", identity)
                token = NewToken(id=f"tok_{number}_{identity}", secret=secret, user_id="usr_people")
                request = CreateTokenRequest(ttl_ms=366 * _DAY_MS, uses=1, pool="hosted")
                self.database.run_now(tokens.create, token, request, now)

    def _renounce(self, runner: str) -> None:
        """Give a runner that is to be revoked another registration token."""
        self._once_revoked.add(runner)
        self._identities[runner] += 1

    # What is looked at.

    def _ended(self) -> bool:
        return all(record.ends for record in self.world.history.jobs.values())

    def _missing(self) -> list[str]:
        views = self.database.read_now(runners.facts)
        here = {facts.name for facts in views if facts.status == "idle" and facts.admission == "active"}
        return [agent.name for agent in self.agents if agent.name not in here]

    def _revoked(self) -> list[str]:
        return [facts.name for facts in self.database.read_now(runners.facts) if facts.admission == "revoked"]

    def _kept_out(self) -> list[str]:
        listed = {facts.name for facts in self.database.read_now(runners.facts)}
        return self._revoked() + sorted(name for name in self._once_revoked if name not in listed)

    def _held_back(self) -> list[str]:
        listed = self.database.read_now(runners.facts)
        return [facts.name for facts in listed if facts.admission not in ("active", "revoked")]

    def _unsettled(self) -> str:
        views = self.database.read_now(runners.facts)
        told = [f"{facts.name}: {facts.status} {facts.admission} {facts.note}" for facts in views]
        jobs = [(record.job, record.story[-1][1]) for record in self.world.history.jobs.values() if not record.ends]
        return f"I9 not settled: jobs {jobs}, people still ask {self.people.waiting}, runners {told}"

    def _overlap(self, job: str, fence: int) -> None:
        """An attempt begins: no runner that is well may still be at an earlier one.

        From a revoked runner its work is taken at once, whether or not it has heard of that.
        """
        revoked = self._revoked()
        for agent in (agent for agent in self.agents if agent.name not in revoked):
            for (other, earlier), attempt in self.attempts[agent.name].kept.items():
                if other == job and earlier < fence and attempt.running and self._undisturbed(agent):
                    self.world.history.wronged(
                        job, f"I6 attempt {earlier} still runs at {agent.name} while attempt {fence} begins"
                    )

    def _undisturbed(self, agent: Node) -> bool:
        process = agent.running()
        loop = self.world.loop
        return (
            process is not None
            and process.state == "running"
            and loop.time() - process.undisturbed_since > FENCED_SECONDS
        )


def registration_token(runner: str, identity: int) -> str:
    """The secret with which a runner of this name becomes someone for the nth time."""
    return f"ostr_{runner}_{identity}"


def _trace(process: Process, level: Level, record: Mapping[str, Value]) -> None:
    trace = process.node.loop.trace
    if trace.listener is not None:
        fields = " ".join(f"{key}={value}" for key, value in record.items() if key not in ("time", "level", "event"))
        trace.listener(process.node.loop.time(), f"{process.name}: {level} {record['event']} {fields}")


__all__ = ["ENDED", "Platform", "Submission", "long_troubles", "registration_token", "scenario"]
