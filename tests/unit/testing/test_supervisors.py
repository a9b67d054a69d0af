import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ostler.agent.errors import SupervisorError
from ostler.agent.supervision import JobOrder, StepOrder, Supervisor, Supervisors
from ostler.logs.frame import decode_all
from ostler.testing.node import Process
from ostler.testing.supervisors import Attempts, SimSupervisors
from ostler.testing.world import World, simulate

Story = Callable[[World, Attempts, "Start"], Coroutine[Any, Any, None]]
Start = Callable[[Callable[[Supervisors], Coroutine[Any, Any, None]]], Process]

ORDER = JobOrder(
    job_id="job_1",
    fence=1,
    steps=tuple(StepOrder(name=f"step{number}", script="true") for number in range(4)),
)


def tell(story: Story, seed: int = 1) -> World:
    """Give the story a node whose attempts agents can start and follow."""

    async def scenario(world: World) -> None:
        node = world.node("runner")
        attempts = Attempts(node, world.history, world.faults)
        world.history.submitted("job_1", "lease")
        world.history.granted("job_1", 1, "runner")

        def start(work: Callable[[Supervisors], Coroutine[Any, Any, None]]) -> Process:
            return node.start(lambda process: work(SimSupervisors(process, attempts)))

        await story(world, attempts, start)
        world.history.ended("job_1", 1, next(iter(world.history.jobs["job_1"].results.values()), ""))

    world = World(seed, rates={})
    simulate(world, scenario)
    return world


async def until_ended(supervisor: Supervisor) -> str:
    while (result := supervisor.result()) is None:
        await supervisor.changed()
    return result.conclusion


@pytest.mark.parametrize("seed", range(20))
def test_an_attempt_runs_its_steps_and_keeps_what_it_printed(seed: int) -> None:
    async def story(world: World, attempts: Attempts, start: Start) -> None:
        ended = list[str]()

        async def agent(supervisors: Supervisors) -> None:
            supervisor = await supervisors.launch(ORDER)
            ended.append(await until_ended(supervisor))
            assert [event.seq for event in supervisor.events(0)] == list(range(1, len(supervisor.events(0)) + 1))
            data, offset = b"", 0
            while frames := supervisor.log_frames(offset, 200):
                data += b"".join(frame.text for frame in decode_all(frames))
                offset = len(data)
            assert offset == supervisor.log_length()
            assert data == bytes(world.history.jobs["job_1"].printed.get(1, b""))

        start(agent)
        await asyncio.sleep(5000)
        assert ended[0] in {"succeeded", "failed"}

    tell(story, seed)


def test_an_attempt_outlives_its_agent_and_is_adopted() -> None:
    async def story(world: World, attempts: Attempts, start: Start) -> None:
        async def first(supervisors: Supervisors) -> None:
            await until_ended(await supervisors.launch(ORDER))

        async def second(supervisors: Supervisors) -> None:
            assert supervisors.found() == [("job_1", 1)]
            with pytest.raises(SupervisorError, match="launched before"):
                await supervisors.launch(ORDER)
            supervisor = await supervisors.adopt("job_1", 1)
            assert supervisor is not None
            assert await until_ended(supervisor) in {"succeeded", "failed"}
            await supervisors.discard("job_1", 1)
            assert await supervisors.adopt("job_1", 1) is None

        agent = start(first)
        await asyncio.sleep(1)
        agent.kill()
        start(second)
        await asyncio.sleep(5000)
        assert attempts.kept == {}

    assert len(tell(story).history.jobs["job_1"].executions) == 1


def test_an_attempt_whose_supervisor_dies_is_lost_for_the_agent_that_follows_it() -> None:
    async def story(world: World, attempts: Attempts, start: Start) -> None:
        async def agent(supervisors: Supervisors) -> None:
            supervisor = await supervisors.launch(ORDER)
            assert await until_ended(supervisor) == "failed"
            result = supervisor.result()
            assert result is not None
            assert (result.cause, result.detail) == ("infrastructure", "supervisor_lost")

        start(agent)
        await asyncio.sleep(1)
        supervisor = world.nodes["runner"].running("job job_1.1")
        assert supervisor is not None
        supervisor.kill()
        await asyncio.sleep(1)

    assert tell(story).history.jobs["job_1"].cut_short == {1}


def test_an_attempt_that_lost_power_has_vanished() -> None:
    async def story(world: World, attempts: Attempts, start: Start) -> None:
        async def first(supervisors: Supervisors) -> None:
            await until_ended(await supervisors.launch(ORDER))

        async def second(supervisors: Supervisors) -> None:
            assert supervisors.found() == [("job_1", 1)]
            assert await supervisors.adopt("job_1", 1) is None

        start(first)
        await asyncio.sleep(1)
        world.nodes["runner"].crash()
        start(second)
        await asyncio.sleep(10)

    tell(story)


@pytest.mark.parametrize("how", ["cancel", "kill"])
def test_a_cancelled_attempt_ends_within_its_grace(how: str) -> None:
    ended = list[str]()

    async def story(world: World, attempts: Attempts, start: Start) -> None:
        async def agent(supervisors: Supervisors) -> None:
            supervisor = await supervisors.launch(ORDER)
            begun = world.loop.time()
            await (supervisor.cancel("asked") if how == "cancel" else supervisor.kill())
            conclusion = await until_ended(supervisor)
            ended.append(conclusion)
            assert world.loop.time() - begun < (10.1 if how == "cancel" else 0.1)

        start(agent)
        await asyncio.sleep(100)

    for seed in range(20):
        tell(story, seed)
    assert ended == ["cancelled"] * 20


def test_an_attempt_that_takes_too_long_is_timed_out() -> None:
    async def story(world: World, attempts: Attempts, start: Start) -> None:
        async def agent(supervisors: Supervisors) -> None:
            order = JobOrder(job_id="job_1", fence=1, steps=ORDER.steps * 20, timeout_ms=1)
            assert await until_ended(await supervisors.launch(order)) == "timed_out"

        start(agent)
        await asyncio.sleep(100)

    tell(story)
