"""Random workflows under random fates: several replicas, lost reasons, jobs that end as they like, cancels.

What must hold in the end: every run that was accepted has ended, no job was started twice, and nothing of a run is
left over: no reason to look at it, no place in a concurrency group.
"""

import asyncio
from typing import Any

import pytest
from sqlalchemy import Connection

from ostler.effects import SourceRandom, seeded_random
from ostler.store import workflow_wakes
from ostler.store.inline import InlineDatabase
from ostler.store.sql import Sql
from ostler.testing.asgi import Lifespan
from tests.contract.server.installation import SECOND, Installation, Runner
from tests.contract.server.repository import Connected, connected

_ENDED = ("succeeded", "failed", "cancelled")
_LEFT = tuple(Sql(f"SELECT count(*) FROM {table}") for table in ("workflow_wakes", "concurrency_groups"))
_TWICE = Sql("SELECT run_id, name FROM jobs GROUP BY run_id, name HAVING count(*) > 1")
_MOST_STEPS = 600


def a_workflow(chance: SourceRandom) -> str:
    """A workflow of some jobs, each of which may need earlier ones, be a matrix, share a group or always run."""
    lines = ["on: workflow_dispatch"]
    if chance.uniform(0, 1) < 0.4:
        cancels = str(chance.uniform(0, 1) < 0.5).lower()
        lines.append(f"concurrency: {{group: all, cancel-in-progress: {cancels}}}")
    lines.append("jobs:")
    names: list[str] = []
    for place in range(1 + chance.below(5)):
        chance.shuffle(order := list(names))
        needs = order[: chance.below(3)]
        name = f"job{place}"
        names.append(name)
        lines += [f"  {name}:", "    runs-on: linux", "    steps: [{run: x}]"]
        if needs:
            lines.append(f"    needs: [{', '.join(needs)}]")
        if chance.uniform(0, 1) < 0.3:
            lines.append(f"    strategy: {{max-parallel: {1 + chance.below(3)}, matrix: {{n: [1, 2, 3]}}}}")
        if chance.uniform(0, 1) < 0.2:
            lines.append(f"    if: {chance.choice(['always()', 'failure()', 'false'])}")
        if chance.uniform(0, 1) < 0.2:
            lines.append(f"    concurrency: {{group: {chance.choice(['a', 'b'])}}}")
        if chance.uniform(0, 1) < 0.2:
            lines.append("    continue-on-error: true")
    return "\n".join(lines)


class Chaos:
    """One play."""

    def __init__(self, installation: Installation, shop: Connected, runner: Runner, chance: SourceRandom) -> None:
        self.installation = installation
        self.shop = shop
        self.runner = runner
        self.chance = chance
        self.replicas = [installation.control, installation.replica(), installation.replica()]
        self.held: list[dict[str, Any]] = []
        self.runs: list[str] = []

    async def step(self) -> None:
        """One thing that may happen."""
        what = self.chance.uniform(0, 1)
        if what < 0.35:
            await self.chance.choice(self.replicas).workflows.driver.round()
        elif what < 0.45:
            await asyncio.gather(*(replica.workflows.driver.round() for replica in self.replicas))
        elif what < 0.55:  # a replica dies right after it took what waits
            await self.installation.database.run(workflow_wakes.take, self.installation.clock.now())
        elif what < 0.75:
            await self.claim()
        elif what < 0.95:
            await self.finish(self.chance.choice(["succeeded", "succeeded", "failed"]))
        else:
            self.installation.clock.micros += 61 * SECOND
            await self.runner.authenticate()

    async def claim(self) -> None:
        """Take one more job."""
        if self.held:
            return
        claims = (await self.runner.poll()).json().get("claims", [])
        for claim in claims:
            assert (await self.runner.start(claim)).status == 200
            self.held.append(claim)

    async def finish(self, conclusion: str) -> None:
        """End the job that is held."""
        if self.held:
            claim = self.held.pop()
            state = (await self.shop.person.get(f"/api/v1/jobs/{claim['job_id']}")).json()["state"]
            reply = await self.runner.finish(claim, conclusion="cancelled" if state == "cancelling" else conclusion)
            assert reply.status == 200, reply.body

    async def open(self) -> list[str]:
        """The runs that have not ended."""
        return [run for run in self.runs if await self.shop.state(run) not in _ENDED]


async def play(seed: int) -> None:
    chance = seeded_random(seed)
    installation = Installation(InlineDatabase())
    lifespan = Lifespan(installation.control.application)
    await lifespan.startup()
    try:
        shop, runner = await connected(installation), await installation.runner(labels=["linux"])
        chaos = Chaos(installation, shop, runner, chance)
        for _ in range(3):
            shop.commit(a_workflow(chance))
            chaos.runs.append(await shop.dispatch())
            for _ in range(chance.below(7)):
                await chaos.step()
        if chance.uniform(0, 1) < 0.5:
            await shop.person.post(f"/api/v1/runs/{chance.choice(chaos.runs)}/cancel", {})
        for _ in range(_MOST_STEPS):
            if not await chaos.open():
                break
            await chaos.step()
        assert not await chaos.open(), [await shop.run(run) for run in await chaos.open()]
        installation.clock.micros += 61 * SECOND
        await shop.settle()
        left, twice = await installation.database.read(_counted)
        assert left == [0, 0], "reasons, places in groups"
        assert not twice
    finally:
        await lifespan.shutdown()


def _counted(connection: Connection) -> tuple[list[int], list[tuple[str, str]]]:
    left = [statement.rows(connection)[0][0] for statement in _LEFT]
    return left, [(row[0], row[1]) for row in _TWICE.rows(connection)]


@pytest.mark.parametrize("seed", range(25))
def test_every_run_ends_and_no_job_starts_twice(seed: int) -> None:
    asyncio.run(play(seed))
