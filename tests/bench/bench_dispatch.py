"""From a submission to a runner, to its first output, and to its end: what a person feels.

The figures of 1.1 and 1.2 are taken with runners that do nothing but speak the protocol; the others with the real
agent, supervisors and shells of `ostler up`.
"""

import asyncio
import json
import time
from typing import Any

from tests.bench import floors
from tests.bench.context import Context, percentile
from tests.bench.figure import Figure, Sample, absolute, compared
from tests.bench.peer import Stream
from tests.bench.served import NOOP, Runner, Server, join, running, serving, until
from tests.parts.errors import PartMissing

GOALS = ("1.1", "1.2", "1.3", "1.4", "1.5", "1.6")


async def measure(context: Context) -> list[Figure]:
    figures: list[Figure] = []
    idle = context.scaled(100, quick=10)
    with serving(context.directory()) as server:
        runners = await join(server, idle)
        taken = await _claims(context, server, runners)
        figures += _latency("1.1", f"submit to claim, {idle} idle runners, SQLite", taken, 5, 25)
    try:
        cluster = context.postgres()
    except PartMissing as missing:
        print(f"1.2 left out: {missing}")
    else:
        url, directory = cluster.create_database(), context.directory()
        with serving(directory, url) as one, serving(directory, url) as other:
            taken = await _claims(context, one, await join(other, idle))
        figures += _latency("1.2", "submit to claim, runner at another replica, PostgreSQL", taken, 8, 40)
    with running(context.directory(), ["up", "--data", "data", "--runners", "4"]) as server:
        person = await server.person()
        await until(lambda: _ready(server), 30)
        await person.call("POST", "/api/v1/runs", {"spec": NOOP})
        figures += await _output(context, server)
        figures += await _cancel(context, server)
        figures += await _throughput(context, server)
    return figures


def _latency(goal: str, what: str, taken: list[float], middle: float, worst: float) -> list[Figure]:
    return [
        absolute(goal, f"{what}, p50", percentile(taken, 50), "ms", at_most=middle),
        absolute(goal, f"{what}, p99", percentile(taken, 99), "ms", at_most=worst),
    ]


async def _claims(context: Context, server: Server, runners: list[Runner]) -> list[float]:
    person, claimed = await server.person(), asyncio.Queue[float]()

    async def idle(runner: Runner) -> None:
        while True:
            for claim in await runner.poll():
                claimed.put_nowait(time.perf_counter())
                await runner.start(claim)
                await runner.finish(claim)

    tasks = [asyncio.create_task(idle(runner)) for runner in runners]
    await asyncio.sleep(1)
    taken: list[float] = []
    for _ in range(context.scaled(300, quick=20)):
        start = time.perf_counter()
        _, arrived = await asyncio.gather(person.call("POST", "/api/v1/runs", {"spec": NOOP}), claimed.get())
        taken.append((arrived - start) * 1000)
        await asyncio.sleep(0.01)
    for task in tasks:
        task.cancel()
    for runner in runners:
        runner.peer.close()
    return sorted(taken)


async def _ready(server: Server) -> bool:
    person = await server.person()
    listed = await person.call("GET", "/api/v1/runners?status=idle")
    person.close()
    return len(listed["runners"]) >= 4


async def _submitted(server: Server, script: str) -> dict[str, Any]:
    person = await server.person()
    spec = {"name": "bench", "steps": [{"name": "script", "script": script, "shell": "bash"}]}
    run = await person.call("POST", "/api/v1/runs", {"spec": spec})
    person.close()
    return run


async def _followed(server: Server, job_id: str) -> "tuple[Stream, asyncio.Queue[tuple[str, float]]]":
    """A follower, and the lines that it hears with the time at which each came."""
    heard: asyncio.Queue[tuple[str, float]] = asyncio.Queue()

    def note(data: bytes, now: float) -> None:
        for part in data.split(b"data: ")[1:]:
            text = part.split(b"\n", 1)[0].strip()
            if text.startswith(b'{"job"'):
                for line in json.loads(text)["lines"]:
                    heard.put_nowait((line[0], now))

    return await Stream.opened(server.port, f"/api/v1/jobs/{job_id}/log/follow", server.token, note), heard


async def _output(context: Context, server: Server) -> list[Figure]:
    taken: list[float] = []
    for _ in range(context.scaled(30, quick=3)):
        start = time.time()
        run = await _submitted(server, "echo hello")
        stream, heard = await _followed(server, run["jobs"][0]["id"])
        _, arrived = await asyncio.wait_for(heard.get(), 30)
        taken.append((arrived - start) * 1000)
        stream.close()
    taken.sort()
    spawn = await floors.bash_spawns(context)
    spawn_ms = floors.Floor("one bash spawn", "ms", Sample(1000 / spawn.sample.median, spawn.sample.spread))
    lines = context.scaled(100, quick=10)
    run = await _submitted(server, f"for i in $(seq {lines}); do date +%s%N; sleep 0.03; done")
    stream, heard = await _followed(server, run["jobs"][0]["id"])
    late = sorted([_lateness(await asyncio.wait_for(heard.get(), 30)) for _ in range(lines)])
    stream.close()
    return [
        absolute("1.3", "submit to first output at a follower, p50", percentile(taken, 50), "ms", at_most=60),
        compared("1.3", "the same against a spawn", percentile(taken, 50), "ms", spawn_ms, at_most=3),
        absolute("1.4", "line printed to line at a follower, p50", percentile(late, 50), "ms", at_most=50),
        absolute("1.4", "line printed to line at a follower, p95", percentile(late, 95), "ms", at_most=150),
    ]


def _lateness(heard: tuple[str, float]) -> float:
    return (heard[1] - int(heard[0]) / 1e9) * 1000


async def _cancel(context: Context, server: Server) -> list[Figure]:
    taken: list[float] = []
    person = await server.person()
    script = "trap 'date +%s%N; exit 1' INT; echo ready; while :; do sleep 0.02; done"
    for _ in range(context.scaled(20, quick=2)):
        run = await _submitted(server, script)
        stream, heard = await _followed(server, run["jobs"][0]["id"])
        await asyncio.wait_for(heard.get(), 30)
        start = time.time()
        await person.call("POST", f"/api/v1/runs/{run['id']}/cancel", {"reason": "bench"})
        signalled, _ = await asyncio.wait_for(heard.get(), 30)
        taken.append((int(signalled) / 1e9 - start) * 1000)
        stream.close()
    return [absolute("1.5", "cancel to SIGINT in the job, p99", percentile(sorted(taken), 99), "ms", at_most=300)]


async def _throughput(context: Context, server: Server) -> list[Figure]:
    count = context.scaled(1000, quick=40)
    person = await server.person()
    spec = {"name": "noop", "steps": [{"name": "true", "script": "true", "shell": "bash"}]}

    async def once() -> float:
        before = await server.finished()
        start = time.perf_counter()
        await person.call("POST", "/api/v1/runs/batch", {"runs": [{"spec": spec}] * count})

        async def ended() -> bool:
            return await server.finished() - before >= count

        await until(ended, 120, 0.05)
        return count / (time.perf_counter() - start)

    rates = await context.repeat(once)
    floor = await floors.bash_spawns(context, at_once=4)
    return [compared("1.6", "shell jobs through one agent with 4 runners", rates, "/s", floor, at_least=0.8)]
