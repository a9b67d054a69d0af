"""The queue through the whole server: requests, authentication, fences and durable commits included."""

import asyncio
import time
from functools import partial

from tests.bench import floors
from tests.bench.context import Context, async_rate
from tests.bench.figure import Figure, absolute, compared
from tests.bench.served import NOOP, Runner, Server, join, serving
from tests.parts.errors import PartMissing

GOALS = ("2.1", "2.4")

_RUNNERS = 64
_BATCH = 10_000
_SUBMITTERS = 16
_SUBMIT = ("POST", "/api/v1/runs", {"spec": NOOP})


async def measure(context: Context) -> list[Figure]:
    figures: list[Figure] = []
    with serving(context.directory()) as server:
        figures += await _submissions(context, server, "SQLite")
        rate = await context.repeat(lambda: _jobs(context, server))
        figures.append(absolute("2.1", "jobs claimed, started and finished over HTTP, 64 runners, SQLite", rate, "/s"))
    try:
        url = context.postgres().create_database()
    except PartMissing as missing:
        print(f"PostgreSQL left out: {missing}")
        return figures
    with serving(context.directory(), url) as server:
        figures += await _submissions(context, server, "PostgreSQL")
        rate = await context.repeat(lambda: _jobs(context, server))
    what = "jobs claimed, started and finished over HTTP, 64 runners, PostgreSQL"
    return [*figures, compared("2.1", what, rate, "/s", await floors.pgbench(context), at_least=2.5)]


async def _submissions(context: Context, server: Server, name: str) -> list[Figure]:
    person = await server.person()
    size = context.scaled(_BATCH, quick=1000)
    batch = {"runs": [{"spec": NOOP}] * size}
    peers = [await server.person() for _ in range(_SUBMITTERS)]

    async def batched() -> float:
        start = time.perf_counter()
        await person.call("POST", "/api/v1/runs/batch", batch)
        return size / (time.perf_counter() - start)

    async def singles() -> float:
        rates = await asyncio.gather(*(async_rate(context.seconds, partial(peer.call, *_SUBMIT)) for peer in peers))
        return sum(rates)

    many = await context.repeat(batched)
    single = await context.repeat(singles)
    return [
        absolute("2.4", f"jobs submitted {size} in one call, {name}", many, "/s", at_least=10_000),
        absolute("2.4", f"jobs submitted one by one, {_SUBMITTERS} connections, {name}", single, "/s", at_least=1000),
    ]


async def _jobs(context: Context, server: Server) -> float:
    """Runners that take whatever waits, the next job with each result."""
    person = await server.person()
    runners = await join(server, _RUNNERS)
    each = context.scaled(60, quick=5)
    await person.call("POST", "/api/v1/runs/batch", {"runs": [{"spec": NOOP}] * (_RUNNERS * each)})
    start = time.perf_counter()
    done = sum(await asyncio.gather(*(_work(runner, each) for runner in runners)))
    return done / (time.perf_counter() - start)


async def _work(runner: Runner, jobs: int) -> int:
    claims = await runner.poll()
    for done in range(1, jobs + 1):
        await runner.start(claims[0])
        claims = await runner.finish(claims[0], more=done < jobs) or ([] if done == jobs else await runner.poll())
    runner.peer.close()
    return jobs
