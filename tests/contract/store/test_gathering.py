"""Requests that share a transaction are answered each on its own merits, and share only its failure."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence

import pytest
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.store import queue, submissions
from ostler.store.errors import DatabaseClosed
from ostler.store.gathering import Gathering
from tests.contract.store.world import World, code_of, kept

Play = Callable[[Callable[[World], Coroutine[None, None, None]]], None]


def test_submissions_of_one_moment_share_a_transaction(in_world: Play) -> None:
    async def scene(world: World) -> None:
        sizes: list[int] = []

        def counted(
            connection: Connection, items: Sequence[submissions.Submission], now: int
        ) -> list[submissions.Submitted | Refused]:
            sizes.append(len(items))
            return submissions.submit_each(connection, items, now)

        gathering = Gathering(world.database, counted, lambda: world.now)
        asked = [world.prepared("job", key="same" if number < 2 else "") for number in range(50)]
        asked += [world.prepared(pool="nowhere"), world.prepared("other", key="same")]
        answers = await asyncio.gather(*(gathering.ask(each) for each in asked))
        assert sizes == [52]
        assert [code_of(each) for each in answers[50:]] == ["not_found", "idempotency_mismatch"]
        assert kept(answers[0]).run_id == kept(answers[1]).run_id
        assert await world.read(queue.depth, "pool_hosted") == 49
        again = await gathering.ask(world.prepared("other", key="same"))
        assert code_of(again) == "idempotency_mismatch"
        assert kept(await gathering.ask(world.prepared("job", key="same"))).repeated
        await gathering.close()
        with pytest.raises(DatabaseClosed):
            await gathering.ask(world.prepared())

    in_world(scene)


def test_a_failure_is_everybodys_and_the_next_batch_works(in_world: Play) -> None:
    async def scene(world: World) -> None:
        def divide(connection: Connection, items: Sequence[int], now: int) -> list[float]:
            return [1 / item for item in items]

        gathering = Gathering(world.database, divide, lambda: world.now)
        outcomes = await asyncio.gather(*(gathering.ask(each) for each in (1, 0, 2)), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [ZeroDivisionError] * 3
        assert await gathering.ask(4) == 0.25
        waiting = asyncio.ensure_future(gathering.ask(5))
        await asyncio.sleep(0)
        waiting.cancel()
        assert await gathering.ask(2) == 0.5
        await gathering.close()

    in_world(scene)
