import asyncio

import pytest

from ostler.testing.errors import NodeDown, Unhandled
from ostler.testing.faults import Fault
from ostler.testing.node import Process
from ostler.testing.world import Scenario, World, simulate


def calm(scenario: Scenario, seed: int = 1) -> World:
    """Run a scenario without any chance fault."""
    world = World(seed, rates={})
    simulate(world, scenario)
    return world


def test_a_killed_process_does_nothing_more_not_even_in_finally() -> None:
    effects = list[str]()

    async def program(process: Process) -> None:
        async def child() -> None:
            try:
                await asyncio.sleep(5)
                effects.append("child")
            finally:
                process.disk.write("child", b"cleaned")

        task = asyncio.create_task(child())
        asyncio.get_running_loop().call_later(5, effects.append, "timer")
        try:
            await task
        finally:
            process.disk.write("main", b"cleaned")
            effects.append("never reached")

    async def scenario(world: World) -> None:
        process = world.node("one").start(program)
        await asyncio.sleep(1)
        process.kill()
        await asyncio.sleep(100)

    world = calm(scenario)
    assert effects == []
    assert world.nodes["one"].disk.names("") == []


def test_a_process_that_dies_in_the_middle_of_a_call_changes_nothing_after_it() -> None:
    async def program(process: Process) -> None:
        try:
            process.disk.write("before", b"")
            process.kill()
            process.disk.write("after", b"")
        except Exception:  # noqa: BLE001 - shows that not even this catches a death
            process.disk.write("except", b"")
        finally:
            process.disk.write("finally", b"")

    async def scenario(world: World) -> None:
        world.node("one").start(program)
        await asyncio.sleep(1)

    assert calm(scenario).nodes["one"].disk.names("") == ["before"]


def test_a_paused_process_stands_still_and_goes_on() -> None:
    times = list[float]()

    async def program(process: Process) -> None:
        while True:
            await asyncio.sleep(1)
            times.append(asyncio.get_running_loop().time())

    async def scenario(world: World) -> None:
        process = world.node("one").start(program)
        await asyncio.sleep(2.5)
        process.pause()
        await asyncio.sleep(60)
        process.resume()
        await asyncio.sleep(2)

    calm(scenario)
    assert len(times) == 4
    assert times[1] < 3
    assert times[2] > 62


def test_the_next_process_has_the_disk_and_new_ids() -> None:
    ids = list[str]()

    async def program(process: Process) -> None:
        process.disk.append("lives", b"x", sync=True)
        ids.append(process.effects.ids.new("job"))

    async def scenario(world: World) -> None:
        node = world.node("one")
        for _ in range(3):
            node.start(program)
            await asyncio.sleep(1)
        assert node.disk.read("lives") == b"xxx"

    calm(scenario)
    assert len(set(ids)) == 3


def test_a_process_outlives_another_on_the_same_node_but_not_the_node() -> None:
    async def program(process: Process) -> None:
        await asyncio.sleep(1000)

    async def scenario(world: World) -> None:
        node = world.node("one")
        agent, supervisor = node.start(program, "agent"), node.start(program, "supervisor")
        agent.kill()
        assert supervisor.alive
        node.crash()
        assert not supervisor.alive

    calm(scenario)


def test_termination_lets_a_program_clean_up() -> None:
    async def program(process: Process) -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(1)
            process.disk.write("cleaned", b"")

    async def scenario(world: World) -> None:
        process = world.node("one").start(program)
        await asyncio.sleep(1)
        process.terminate()
        await asyncio.sleep(5)
        assert not process.alive

    assert calm(scenario).nodes["one"].disk.names("") == ["cleaned"]


def test_nothing_can_be_started_in_a_dead_process() -> None:
    async def program(process: Process) -> None:
        await asyncio.sleep(0)

    async def scenario(world: World) -> None:
        process = world.node("one").start(program)
        await asyncio.sleep(1)
        with pytest.raises(NodeDown):
            process.spawn(asyncio.sleep(1))

    calm(scenario)


def test_a_program_that_breaks_down_fails_the_run() -> None:
    async def program(process: Process) -> None:
        raise ValueError("a bug")

    async def scenario(world: World) -> None:
        world.node("one").start(program)
        await asyncio.sleep(1)

    with pytest.raises(Unhandled, match="a bug"):
        calm(scenario)


def test_clocks_differ_jump_and_stand_still() -> None:
    async def scenario(world: World) -> None:
        one, other = world.node("one").clock, world.node("other").clock
        assert one.now() != other.now()
        before, elapsed = one.now(), one.monotonic()
        one.jump(-3600)
        assert one.now() == before - 3_600_000_000
        assert one.monotonic() == elapsed
        await asyncio.sleep(10)
        one.suspend(9)
        assert 0 < one.monotonic() - elapsed < 1.5

    simulate(World(1, rates={Fault.CLOCK_SKEW: 1.0}), scenario)
