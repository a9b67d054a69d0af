"""Hints within the process."""

import asyncio

from ostler.server.hub import DRAIN_TOPIC, Hub


def test_changes_are_told_once_and_in_order() -> None:
    async def scene() -> None:
        hub = Hub()
        with hub.subscribe("a", "b") as changes:
            for topic in ("b", "a", "b", "c"):
                hub.publish(topic)
            assert await changes.changed() == ["b", "a"]
            assert await changes.changed(0) == []
        hub.publish("a")
        assert not hub.followed("a")

    asyncio.run(scene())


def test_missed_hints_put_everything_in_doubt_but_the_end_of_the_process() -> None:
    async def scene() -> None:
        hub = Hub()
        with hub.subscribe("log:1", DRAIN_TOPIC) as changes:
            hub.publish("*")
            assert await changes.changed() == ["log:1"]

    asyncio.run(scene())
