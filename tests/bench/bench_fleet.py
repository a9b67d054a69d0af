"""How many runners one server process holds, what each costs, and how fast all of them can be given work."""

import asyncio
import time
from typing import Any

import msgspec

from tests.bench import floors
from tests.bench.context import Context
from tests.bench.figure import Figure, absolute, compared
from tests.bench.http_load import cpu_seconds, hammer, post
from tests.bench.served import NOOP, Runner, Server, anonymous_kib, join, serving

GOALS = ("3.1", "3.2", "3.3")


async def measure(context: Context) -> list[Figure]:
    held = context.scaled(10_000, quick=200)
    woken = held // 2
    with serving(context.directory()) as server:
        figures = await _heartbeats(context, server)
        runners = await join(server, held)
        memory, polls = await _hold(server, runners)
        figures.append(absolute("3.1", f"memory of each of {held} idle runners", memory, "KiB", at_most=12))
        seconds = await _wake(server, polls, woken)
        figures.append(absolute("3.2", f"{woken} held polls answered with work", seconds, "s", at_most=1))
        for runner in runners:
            runner.peer.close()
    return figures


async def _hold(server: Server, runners: list[Runner]) -> tuple[float, list["asyncio.Task[list[dict[str, Any]]]"]]:
    """Connections are open before and after, so that what is measured is what holding a poll adds, and they with it."""
    before = anonymous_kib(server.process.pid)
    polls = [asyncio.create_task(runner.poll()) for runner in runners]
    await asyncio.sleep(3)
    return (anonymous_kib(server.process.pid) - before) / len(runners), polls


async def _wake(server: Server, polls: list["asyncio.Task[list[dict[str, Any]]]"], count: int) -> float:
    person = await server.person()
    start = time.perf_counter()
    await person.call("POST", "/api/v1/runs/batch", {"runs": [{"spec": NOOP}] * count})
    answered = asyncio.Event()
    left = count

    def note(task: "asyncio.Task[list[dict[str, Any]]]") -> None:
        nonlocal left
        left -= not task.cancelled() and bool(task.result())
        if left <= 0:
            answered.set()

    for poll in polls:
        poll.add_done_callback(note)
    await asyncio.wait_for(answered.wait(), 60)
    took = time.perf_counter() - start
    for poll in polls:
        poll.remove_done_callback(note)
        poll.cancel()
    return took


async def _heartbeats(context: Context, server: Server) -> list[Figure]:
    person = await server.person()
    runner = (await join(server, 1, job_kinds=["ci", "insights_scan"]))[0]
    for kind in ("ci", "insights_scan"):
        await person.call("POST", "/api/v1/runs", {"spec": NOOP, "kind": kind})
    leases: list[dict[str, Any]] = []
    while len(leases) < 2:
        for claim in await runner.poll(5000, ("primary", "auxiliary")[len(leases) :]):
            await runner.start(claim)
            leases.append({"job_id": claim["job_id"], "fence": claim["fence"]})
    metrics = {"cpu_percent": 12.5, "memory_used_bytes": 2**30, "disk_free_bytes": 2**33, "load": 0.5}
    body = msgspec.json.encode({"leases": leases, "metrics": metrics})
    request = post("/agent/v1/heartbeats", body, token=runner.peer.token)

    async def once() -> float:
        before = cpu_seconds(server.process.pid)
        answered, _ = await hammer(server.port, request, seconds=context.seconds)
        return answered / (cpu_seconds(server.process.pid) - before)

    rate = await context.repeat(once)
    for lease in leases:
        await runner.finish(lease)
    return [
        compared("3.3", "heartbeats with 2 leases", rate, "/cpu-s", await floors.plain_http(context), at_least=0.25)
    ]
