"""Rounds of the dispatcher over a real SQLite in memory, with faults around its commits."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Concatenate, ParamSpec, TypeVar

import pytest
from sqlalchemy import Connection

from ostler.effects import system_effects
from ostler.protocol.v1.runner_messages import FinishRequest, LeaseRef
from ostler.scheduling.demand import RunnerFacts
from ostler.server.dispatch import Dispatcher
from ostler.server.held_polls import Told
from ostler.server.hub import Hub
from ostler.server.metrics import Metrics
from ostler.server.rounds import HandedIn, Wishes
from ostler.store.attempts import Start
from ostler.store.errors import DatabaseUnavailable
from ostler.store.inline import InlineDatabase

T = TypeVar("T")
P = ParamSpec("P")


class PoisonedDatabase(InlineDatabase):
    """Fails every transaction that decides about a poisoned job."""

    async def run(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        for argument in args:
            if isinstance(argument, Wishes) and any(start.job_id == "poison" for start in argument.starts):
                raise ValueError("poison")
        return await super().run(function, *args, **kwargs)


def _play(database: InlineDatabase, scene: Callable[[Dispatcher], Coroutine[None, None, None]]) -> None:
    async def whole() -> None:
        hub = Hub()
        dispatcher = Dispatcher(database, hub, system_effects(), Metrics())
        database.listen(hub.publish)
        loop = asyncio.create_task(dispatcher.run())
        try:
            async with asyncio.timeout(10):
                await scene(dispatcher)
        finally:
            loop.cancel()
            await asyncio.gather(loop, return_exceptions=True)
            await database.close()

    asyncio.run(whole())


def test_a_database_that_fails_leaves_nobody_waiting() -> None:
    database = InlineDatabase()

    async def scene(dispatcher: Dispatcher) -> None:
        def fail() -> None:
            raise DatabaseUnavailable("away")

        database.faults.before_commit = fail
        finish = FinishRequest("job", 1, "key-finish", "succeeded", 0, 0)
        outcomes = await asyncio.gather(
            dispatcher.start(Start("runner", "job", 1, "key-start")),
            dispatcher.finish(HandedIn("runner", finish)),
            dispatcher.renew("runner", [LeaseRef("job", 1)]),
            return_exceptions=True,
        )
        assert [type(outcome) for outcome in outcomes] == [DatabaseUnavailable] * 3
        database.faults.before_commit = lambda: None
        assert await dispatcher.renew("runner", []) == []

    _play(database, scene)


def test_a_request_that_cannot_be_decided_spoils_no_other() -> None:
    async def scene(dispatcher: Dispatcher) -> None:
        good, bad, renewed = await asyncio.gather(
            dispatcher.start(Start("runner", "unknown", 1, "key-good")),
            dispatcher.start(Start("runner", "poison", 1, "key-bad")),
            dispatcher.renew("runner", [LeaseRef("job", 1)]),
            return_exceptions=True,
        )
        assert getattr(good, "code", "") == "stale_fence"
        assert isinstance(bad, ValueError)
        assert isinstance(renewed, list)
        assert renewed[0].action == "abandon"

    _play(PoisonedDatabase(), scene)


@pytest.mark.parametrize("wait", [0.0, 30.0])
def test_an_unknown_runner_is_told_to_say_hello(wait: float) -> None:
    async def scene(dispatcher: Dispatcher) -> None:
        with pytest.raises(Exception, match="not_found"):
            await dispatcher.hold("rnr_unknown", (), "key-poll", wait)

    _play(InlineDatabase(), scene)


def test_a_hint_between_the_look_at_leases_and_the_wait_is_not_lost() -> None:
    async def whole() -> None:
        hub = Hub()
        dispatcher = Dispatcher(InlineDatabase(), hub, system_effects(), Metrics())
        dispatcher._facts["rnr_1"] = RunnerFacts(id="rnr_1", name="one", pool_id="pool")
        with dispatcher.attending("rnr_1") as attention:
            hub.publish("runner:rnr_1")
            async with asyncio.timeout(5):
                assert await dispatcher.hold("rnr_1", (), "key-poll", 60.0, attention=attention) == Told()
        with dispatcher.attending("rnr_1") as attention:
            hub.publish("runner:rnr_2")
            assert not attention.hinted
        assert dispatcher._attentive == {}

    asyncio.run(whole())
