import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from ostler.testing.errors import Deadlock, LimitExceeded, RealWorldTouched, Unhandled
from ostler.testing.loop import SimLoop
from ostler.testing.run import run, simulated_loop

PROGRAM = """
import asyncio
from ostler.testing.run import run

async def worker(number, log):
    for _ in range(5):
        await asyncio.sleep(0.5)
        log.append(number)

async def main():
    log = []
    names = {f"name{number}" for number in range(20)}
    tasks = {asyncio.create_task(worker(number, log)) for number in range(10)}
    done, _ = await asyncio.wait(tasks)
    return log, [task.get_name() for task in done], len(names)

outcome = run(7, main)
print(outcome.fingerprint, outcome.value)
"""


async def two_writers() -> list[str]:
    """A planted race: each reads, lets the other run, and writes."""
    state = {"count": 0}

    async def increment() -> None:
        seen = state["count"]
        await asyncio.sleep(0)
        state["count"] = seen + 1

    async def increment_later() -> None:
        await asyncio.sleep(0)
        await increment()

    await asyncio.gather(increment(), increment_later())
    return ["lost"] if state["count"] == 1 else []


async def nap(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return asyncio.get_running_loop().time()


def test_a_day_passes_at_once() -> None:
    assert 86_400 <= run(1, lambda: nap(86_400)).value < 86_401


def test_a_timer_is_never_early_and_sometimes_late() -> None:
    woken = [run(seed, lambda: nap(1)).value for seed in range(50)]
    assert min(woken) >= 1
    assert max(woken) > 1.0005


def test_the_same_seed_gives_the_same_run() -> None:
    assert run(3, two_writers) == run(3, two_writers)
    assert len({run(seed, two_writers).fingerprint for seed in range(20)}) > 1


def test_the_same_seed_gives_the_same_run_in_another_process_with_other_hashes() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1", "4711")
    }
    assert len(outputs) == 1


def test_some_seed_finds_a_race_between_tasks() -> None:
    found = [seed for seed in range(50) if run(seed, two_writers).value]
    assert 0 < len(found) < 50


def test_callbacks_of_one_future_keep_their_order() -> None:
    async def main() -> list[int]:
        loop, seen = asyncio.get_running_loop(), list[int]()
        future = loop.create_future()
        for number in range(10):
            future.add_done_callback(lambda _, number=number: seen.append(number))
        future.set_result(None)
        await asyncio.sleep(1)
        return seen

    assert all(run(seed, main).value == list(range(10)) for seed in range(20))


def test_a_deadlock_is_told_with_who_waits_where() -> None:
    async def stuck() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(Deadlock, match=r"test_loop\.py:\d+ in stuck"):
        run(1, stuck)


def test_a_livelock_is_stopped() -> None:
    async def spin() -> None:
        for _ in range(100_000):
            await asyncio.sleep(0)

    with pytest.raises(LimitExceeded):
        run(1, spin, loop=SimLoop(1, max_steps=1000))


def test_a_run_is_stopped_at_its_time_limit() -> None:
    with pytest.raises(LimitExceeded):
        run(1, lambda: nap(100), loop=SimLoop(1, max_seconds=10))


def test_real_input_and_output_is_refused() -> None:
    async def connect() -> None:
        await asyncio.open_connection("localhost", 80)

    async def start() -> None:
        await asyncio.create_subprocess_exec("true")

    for attempt in (connect, start):
        with pytest.raises(RealWorldTouched):
            run(1, attempt)


def test_a_thread_is_a_step() -> None:
    async def main() -> int:
        return await asyncio.to_thread(lambda: 42)

    assert run(1, main).value == 42


def test_an_exception_in_a_forgotten_task_fails_the_run() -> None:
    async def break_down() -> None:
        raise ValueError("nobody looks")

    async def main() -> None:
        task = asyncio.create_task(break_down())
        await asyncio.wait([task])

    with pytest.raises(Unhandled, match="nobody looks"):
        run(1, main)


def test_what_is_left_suspended_is_closed_quietly() -> None:
    closed = list[str]()

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(1)
            closed.append("generator")

    async def stubborn() -> None:
        try:
            async for _ in numbers():
                await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(1)
            closed.append("task")

    async def main() -> int:
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(1)
        assert simulated_loop().tasks_of(None)
        return len(task.get_name())

    run(1, main)
    assert not closed


def test_fail_ends_the_run_whoever_catches() -> None:
    async def main() -> None:
        simulated_loop().fail(LookupError("found"))
        await asyncio.sleep(10)

    with pytest.raises(LookupError, match="found"):
        run(1, main)
