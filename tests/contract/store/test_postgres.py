"""What only PostgreSQL can do wrong: races between connections, lost connections, failover, and plans."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import pytest
from sqlalchemy import Connection

from ostler.domain.job import Slot
from ostler.protocol.v1.runner_messages import FinishRequest
from ostler.store import attempts, claims, pools, submissions
from ostler.store.database import Database, hint
from ostler.store.errors import DatabaseUnavailable, DatabaseUncertain
from ostler.store.open import open_database
from ostler.store.postgres import PostgresDatabase
from ostler.store.transitions import _UPDATE_ATTEMPTS, _UPDATE_JOBS
from tests.contract.store.test_databases import Ear
from tests.contract.store.world import World, kept
from tests.parts.postgres import PostgresCluster

T = TypeVar("T")
P = ParamSpec("P")

pytestmark = pytest.mark.postgres

_CLAIMERS = 100


async def prepared_world(database: Database, jobs: int, runners: int) -> tuple[World, list[str]]:
    world = World(database)
    many = [world.prepared(f"job-{number}") for number in range(jobs)]
    kept(await world.run(submissions.submit_many, many, world.now))
    ids = [await world.runner(f"runner-{number}") for number in range(runners)]
    return world, ids


def test_a_hundred_claimers_never_get_the_same_job(postgres_database: str) -> None:
    async def whole() -> None:
        database = await open_database(postgres_database)
        world, runners = await prepared_world(database, _CLAIMERS - 20, _CLAIMERS)
        classes = await world.classes()
        wants = [
            claims.Want(runner_id=runner, slot=Slot.PRIMARY, key=f"key-{runner}", demand_ids=classes)
            for runner in runners
        ]
        # Every runner asks twice at once, as if its request had been duplicated on the way to two replicas.
        answers = await asyncio.gather(*(world.run(claims.claim_batch, (want,), world.now) for want in wants * 2))
        claimed = {(claim.job_id, claim.runner_id) for answer in answers for claim in answer if claim}
        assert len(claimed) == _CLAIMERS - 20
        assert set(Counter(job_id for job_id, _ in claimed).values()) == {1}
        assert set(Counter(runner for _, runner in claimed).values()) == {1}
        await database.close()

    asyncio.run(whole())


def test_hints_reach_other_replicas(postgres_database: str) -> None:
    async def whole() -> None:
        first, second = await open_database(postgres_database), await open_database(postgres_database)
        ear = Ear(second)
        await ear.until("*")

        def speak(connection: Connection) -> None:
            hint(connection, "queue:pool_hosted")

        await first.run(speak)
        await ear.until("queue:pool_hosted")
        first.hint("long:" + "é" * 1000)
        await ear.until("long:" + "é" * 1000)
        await first.close()
        await second.close()

    asyncio.run(whole())


def test_a_broken_connection_before_the_commit_is_retried(postgres_database: str) -> None:
    async def whole() -> None:
        database = await open_database(postgres_database)
        tries: list[int] = []

        def cut_once(connection: Connection) -> int:
            tries.append(1)
            if len(tries) == 1:
                connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
            return len(pools.list_all(connection))

        assert await database.run(cut_once) == 1
        assert len(tries) == 2
        await database.close()

    asyncio.run(whole())


def test_conflicts_are_retried_and_mistakes_are_not(postgres_database: str) -> None:
    async def whole() -> None:
        database = await open_database(postgres_database)
        tries: list[int] = []

        def conflict(connection: Connection, code: str) -> None:
            tries.append(1)
            if len(tries) < 3:
                connection.exec_driver_sql(f"DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{code}'; END $$")

        await database.run(conflict, "40001")
        assert len(tries) == 3
        tries.clear()
        with pytest.raises(Exception, match="x"):
            await database.run(conflict, "22012")
        assert len(tries) == 1
        await database.close()

    asyncio.run(whole())


def test_a_database_that_is_away_is_unavailable_and_then_back() -> None:
    async def whole(cluster: PostgresCluster) -> None:
        database = PostgresDatabase(cluster.url(), patience_seconds=0.5)
        assert await database.read(_one) == 1
        cluster.crash()
        with pytest.raises(DatabaseUnavailable, match="does not answer"):
            await database.read(_one)
        cluster.start()
        assert await database.read(_one) == 1
        await database.close()

    with PostgresCluster() as cluster:
        asyncio.run(whole(cluster))


def _one(connection: Connection) -> int:
    return connection.exec_driver_sql("SELECT 1").scalar_one()


def test_failover_loses_nothing_that_was_acknowledged() -> None:
    """The primary dies under load and the standby takes over; whoever repeats with its key gets the same answer."""

    async def whole(primary: PostgresCluster, standby: PostgresCluster) -> None:
        place = f"postgres@127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        database = await open_database(f"postgresql://{place}/postgres")
        world, runners = await prepared_world(database, 400, 8)
        classes = await world.classes()
        acknowledged: dict[str, str] = {}
        uncertain: list[str] = []
        under_load = asyncio.Event()

        async def insist(function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
            while True:
                try:
                    return await world.run(function, *args, **kwargs)
                except (DatabaseUncertain, DatabaseUnavailable) as error:
                    uncertain.append(error.code)

        async def work(runner: str) -> None:
            want = claims.Want(runner_id=runner, slot=Slot.PRIMARY, key=f"key-{runner}", demand_ids=classes)
            while True:
                claim = (await insist(claims.claim_batch, (want,), world.now))[0]
                if claim is None:
                    return
                key = f"key-{claim.job_id}"
                kept(await insist(attempts.start, runner, claim.job_id, claim.fence, key, world.now))
                result = FinishRequest(claim.job_id, claim.fence, key, "succeeded", 0, 0)
                finished = kept(await insist(attempts.finish, runner, result, world.now))
                assert isinstance(finished, attempts.Finished)
                assert claim.job_id not in acknowledged, "no job runs twice"
                acknowledged[claim.job_id] = runner
                if len(acknowledged) == 100:
                    under_load.set()

        async def fail_over() -> None:
            await under_load.wait()
            await asyncio.to_thread(primary.crash)
            await asyncio.to_thread(standby.promote)

        await asyncio.gather(fail_over(), *(work(runner) for runner in runners))
        assert len(acknowledged) == 400
        states = Counter(await database.read(_job_states))
        assert states == {("succeeded", 1): 400}
        await database.close()

    with PostgresCluster() as primary:
        standby = primary.standby(synchronous=True)
        asyncio.run(whole(primary, standby))


def _job_states(connection: Connection) -> list[tuple[str, int]]:
    rows = connection.exec_driver_sql("SELECT state, fence FROM jobs").all()
    return [(row[0], row[1]) for row in rows]


_FILL = """
INSERT INTO jobs (id, run_id, pool_id, demand_id, name, kind, state, fence, siblings, has_secrets, priority, urgency,
                  position, pool_level, created_at)
SELECT 'job_' || lpad(n::text, 26, '0'), 'run_' || n, 'pool_hosted', 'dem_' || n % 1000, 'job', 'ci',
       CASE WHEN n % 5 = 0 THEN 'succeeded' ELSE 'queued' END, 1, 1, 0, 0, 0, n, 'hosted', n
FROM generate_series(1, 100000) n;
INSERT INTO attempts (job_id, fence, runner_id, runner_name, slot, state, claim_key, claimed_at, events_stored,
                      log_bytes, log_lines, log_sealed)
SELECT id, 1, 'rnr_1', 'alpha', 'primary', 'succeeded', 'k', 1, 0, 0, 0, 0 FROM jobs;
"""


@pytest.mark.parametrize("analyzed", [False, True])
def test_hot_statements_read_indexes_whatever_the_planner_knows(postgres_database: str, analyzed: bool) -> None:
    async def whole() -> None:
        database = await open_database(postgres_database)

        def plans(connection: Connection) -> list[str]:
            for statement in _FILL.split(";\n"):
                if statement.strip():
                    connection.exec_driver_sql(statement)
            if analyzed:
                connection.exec_driver_sql("ANALYZE")
            ids = [f"job_{number:026d}" for number in range(1, 257)]
            hot = [
                (claims.TAKE.text(postgres=True), ("dem_7", 256)),
                # Groups whose rows are alike but for their ids, and groups whose rows differ in everything.
                _UPDATE_JOBS.statement([("x", 1, 1, None, None, None, each, 1) for each in ids]),
                _UPDATE_JOBS.statement([(each, at, at, each, at, each, each, at) for at, each in enumerate(ids)]),
                _UPDATE_ATTEMPTS.statement([("x", *[None] * 7, each, 1) for each in ids]),
                _UPDATE_ATTEMPTS.statement(
                    [(each, each, each, at, at, at, each, at, each, at) for at, each in enumerate(ids)]
                ),
            ]
            found: list[str] = []
            for statement, parameters in hot:
                rows = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).all()
                found.append("\n".join(str(row[0]) for row in rows))
            return found

        for plan in await database.run(plans):
            assert "Seq Scan" not in plan, plan
        await database.close()

    asyncio.run(whole())
