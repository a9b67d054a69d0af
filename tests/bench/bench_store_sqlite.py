"""The queue on SQLite without any network: what group commit gains, and what a claim costs in CPU time."""

import asyncio
import time

from ostler.store import queue, submissions
from ostler.store.database import Database
from ostler.store.inline import InlineDatabase
from ostler.store.open import open_database
from tests.bench import floors, store_load
from tests.bench.context import Context, async_rate, durations, percentile
from tests.bench.figure import Figure, absolute, compared

GOALS = ("2.2", "2.3", "2.4", "2.5")

_JOBS_OF_A_CLASS = 100
_RUNNERS = 64
_CALLERS = 16


async def measure(context: Context) -> list[Figure]:
    database = await open_database(f"sqlite:///{context.directory()}/ostler.db")
    try:
        runners = await store_load.enrol(database, _RUNNERS)
        figures = await _submitting(context, database)
        await store_load.fill(database, context.scaled(100_000, quick=5000))
        figures += await _serving(context, database, runners)
    finally:
        await database.close()
    return figures + await _growing(context)


async def _serving(context: Context, database: Database, runners: list[str]) -> list[Figure]:
    floor = await floors.sqlite_commits(context)
    demand = [store_load.demand_id("class-0")]
    fleet = store_load.Fleet(database, runners, demand)
    cpu, before = time.process_time(), time.perf_counter()
    turns = await context.repeat(lambda: async_rate(context.seconds, fleet.turn, each=_RUNNERS))
    each = (time.process_time() - cpu) / (turns.median * (time.perf_counter() - before)) * 1_000_000
    await fleet.settle()
    single = store_load.Fleet(database, runners[:1], demand)
    claim_ms = await _median_claim(context, fleet, 50)
    one_ms = await _median_claim(context, single, 200)
    return [
        compared("2.2", f"SQLite: claims, {_RUNNERS} waiting", _RUNNERS / claim_ms * 1000, "/s", floor, at_least=5),
        compared("2.2", "SQLite: claims, one at a time", 1 / one_ms * 1000, "/s", floor, at_least=0.9),
        compared("2.2", "SQLite: claim, start and completion, 64 runners", turns, "/s", floor),
        absolute("2.2", "SQLite: CPU of a whole job in the store", each, "us"),
        absolute("2.2", "SQLite: CPU of a claim among 64", await _cpu_of_a_claim(context), "us", at_most=20),
    ]


async def _median_claim(context: Context, fleet: store_load.Fleet, count: int) -> float:
    taken: list[float] = []
    for _ in range(context.scaled(count, quick=5)):
        start = time.perf_counter()
        await fleet.claim()
        taken.append((time.perf_counter() - start) * 1000)
        await fleet.give_back()
    return percentile(sorted(taken), 50)


async def _cpu_of_a_claim(context: Context) -> float:
    """Measured in this thread on a database in memory: what the functions cost, without disk and hand-over."""
    database = InlineDatabase()
    fleet = await _fleet(database, context.scaled(10_000, quick=1000), classes=1)
    return await _thread_cpu(fleet, context.scaled(100, quick=5))


async def _growing(context: Context) -> list[Figure]:
    many = context.scaled(1_000_000, quick=20_000)
    small, large = InlineDatabase(), InlineDatabase()
    # A class holds as many jobs, as far apart, in both: only how many others wait differs.
    few = await _thread_cpu(await _fleet(small, 10_000, classes=10_000 // _JOBS_OF_A_CLASS), 50)
    fleet = await _fleet(large, many, classes=many // _JOBS_OF_A_CLASS)
    grown = await _thread_cpu(fleet, 50)
    last = store_load.prepared(1)[0]
    await large.run(submissions.submit, last, store_load.now())

    async def ask() -> None:
        await large.read(queue.explain, last.job_id)

    taken = await durations(context.scaled(100, quick=10), ask)
    return [
        absolute("2.3", f"SQLite: claim at {many:,} waiting against 10,000", grown / few, "x", at_most=1.2),
        absolute("2.5", f"SQLite: why is it waiting, {many:,} waiting, p50", percentile(taken, 50), "ms", at_most=20),
    ]


async def _fleet(database: InlineDatabase, waiting: int, *, classes: int) -> store_load.Fleet:
    await store_load.fill(database, waiting, classes=classes)
    runners = await store_load.enrol(database, _RUNNERS)
    return store_load.Fleet(database, runners, [store_load.demand_id("class-0")])


async def _thread_cpu(fleet: store_load.Fleet, rounds: int) -> float:
    """Microseconds of CPU time of one claim among 64."""
    taken: list[float] = []
    for _ in range(rounds):
        start = time.thread_time()
        await fleet.claim()
        taken.append(time.thread_time() - start)
        await fleet.give_back()
    return percentile(sorted(taken), 50) / _RUNNERS * 1_000_000


async def _submitting(context: Context, database: Database) -> list[Figure]:
    count = context.scaled(store_load.BATCH, quick=1000)

    async def in_one_call() -> float:
        jobs = store_load.prepared(count)
        start = time.perf_counter()
        await database.run(submissions.submit_many, jobs, store_load.now())
        return count / (time.perf_counter() - start)

    singles = iter(store_load.prepared(50_000 if not context.quick else 2000))

    async def one() -> None:
        await database.run(submissions.submit, next(singles), store_load.now())

    many = await context.repeat(in_one_call)

    async def one_by_one() -> float:
        rates = [async_rate(context.seconds, one) for _ in range(_CALLERS)]
        return sum(await asyncio.gather(*rates))

    ones = await context.repeat(one_by_one)
    return [
        absolute("2.4", f"SQLite: submit {count:,} jobs in one call", many, "/s", at_least=10_000),
        absolute("2.4", f"SQLite: submit one by one, {_CALLERS} callers", ones, "/s", at_least=1000),
    ]
