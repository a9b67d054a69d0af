"""The queue on PostgreSQL without any network: what one transaction for many runners gains over one for each.

A turn is a job's whole life in the store: claim, start grant and completion, in two transactions for a whole group of
runners. What waits is spread over as many demand classes as a large installation has.
"""

import asyncio
import time

from ostler.store import queue, submissions
from ostler.store.database import Database
from ostler.store.gathering import Gathering
from ostler.store.open import open_database
from tests.bench import floors, store_load
from tests.bench.context import Context, async_rate, durations, percentile
from tests.bench.figure import Figure, absolute, compared

GOALS = ("2.1", "2.3", "2.4", "2.5")

_JOBS_OF_A_CLASS = 100
_FEW = 10_000
_RUNNERS = 256
_GROUPS = 2
_CALLERS = 16


async def measure(context: Context) -> list[Figure]:
    waiting = context.scaled(1_000_000, quick=20_000)
    database = await open_database(context.postgres().create_database())
    try:
        runners = await store_load.enrol(database, _RUNNERS)
        few = await _cost_of_a_claim(context, database, runners, "few", _FEW)
        figures = await _submitting(context, database)
        many = await _cost_of_a_claim(context, database, runners, "many", waiting)
        figures.append(
            absolute("2.3", f"PostgreSQL: claim at {waiting:,} waiting against 10,000", many / few, "x", at_most=1.2)
        )
        figures.append(await _turns(context, database, runners, waiting))
        figures.append(await _why(context, database))
    finally:
        await database.close()
    return figures


async def _turns(context: Context, database: Database, runners: list[str], waiting: int) -> Figure:
    size = _RUNNERS // _GROUPS
    await store_load.fill(database, context.scaled(200_000, quick=5_000), classes=2)
    groups = [
        store_load.Fleet(
            database,
            runners[group * size : (group + 1) * size],
            [store_load.demand_id(f"class-{group % 2}")],
        )
        for group in range(_GROUPS)
    ]

    async def all_groups() -> float:
        rates = [async_rate(context.seconds, group.turn, each=size) for group in groups]
        return sum(await asyncio.gather(*rates))

    rate = await context.repeat(all_groups)
    floor = await floors.pgbench(context)
    what = f"PostgreSQL: claim, start and completion, {_RUNNERS} runners, {waiting:,} waiting"
    return compared("2.1", what, rate, "/s", floor, at_least=4)


async def _cost_of_a_claim(context: Context, database: Database, runners: list[str], label: str, waiting: int) -> float:
    """The time of a claim by 64 runners of one class, in milliseconds.

    The class is new, holds as many jobs and has them as far apart however many others wait: only their number differs.
    """
    await store_load.fill(database, waiting, classes=waiting // _JOBS_OF_A_CLASS, label=label)
    fleet = store_load.Fleet(database, runners[:64], [store_load.demand_id(f"{label}-0")])
    taken: list[float] = []
    for _ in range(context.scaled(50, quick=5)):
        start = time.perf_counter()
        await fleet.claim()
        taken.append((time.perf_counter() - start) * 1000)
        await fleet.give_back()
    return percentile(sorted(taken), 50)


async def _submitting(context: Context, database: Database) -> list[Figure]:
    count = context.scaled(store_load.BATCH, quick=1000)

    async def in_one_call() -> float:
        jobs = store_load.prepared(count)
        start = time.perf_counter()
        await database.run(submissions.submit_many, jobs, store_load.now())
        return count / (time.perf_counter() - start)

    singles = iter(store_load.prepared(100_000 if not context.quick else 2000))

    gathering = Gathering(database, submissions.submit_each, store_load.now)

    async def one() -> None:
        await gathering.ask(next(singles))

    async def one_by_one() -> float:
        rates = [async_rate(context.seconds, one) for _ in range(_CALLERS)]
        return sum(await asyncio.gather(*rates))

    return [
        absolute(
            "2.4",
            f"PostgreSQL: submit {count:,} jobs in one call",
            await context.repeat(in_one_call),
            "/s",
            at_least=10_000,
        ),
        absolute(
            "2.4",
            f"PostgreSQL: submit one by one, {_CALLERS} callers",
            await context.repeat(one_by_one),
            "/s",
            at_least=1000,
        ),
    ]


async def _why(context: Context, database: Database) -> Figure:
    last = store_load.prepared(1)[0]
    await database.run(submissions.submit, last, store_load.now())

    async def ask() -> None:
        await database.read(queue.explain, last.job_id)

    taken = await durations(context.scaled(100, quick=10), ask)
    return absolute("2.5", "PostgreSQL: why is it waiting, p50", percentile(taken, 50), "ms", at_most=20)
