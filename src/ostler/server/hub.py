"""Who wants to know of a change, within this process.

Topics are short strings (``run:ID``, ``log:JOB``, ``pool:ID`` …). A change is only a hint: subscribers read the truth
from the store, so a repeated or lost hint costs a read or a delay and never a fact.
"""

import asyncio
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Final, Self

DRAIN_TOPIC: Final = "drain"
"""This process shuts down: whoever waits here for anything should stop."""


class Subscription:
    """The topics that changed since the last look, without repeats."""

    def __init__(self, hub: "Hub", topics: Iterable[str]) -> None:
        self._hub = hub
        self._topics = frozenset(topics)
        self._changed: dict[str, None] = {}
        self._event = asyncio.Event()

    def notify(self, topic: str) -> None:
        """Remember a change."""
        self._changed[topic] = None
        self._event.set()

    async def changed(self, timeout_seconds: float | None = None) -> list[str]:
        """Wait for changes and return their topics; an empty list if the time ran out."""
        if not self._changed:
            self._event.clear()
            try:
                async with asyncio.timeout(timeout_seconds):
                    await self._event.wait()
            except TimeoutError:
                return []
        topics = list(self._changed)
        self._changed.clear()
        self._event.clear()
        return topics

    def __enter__(self) -> Self:
        """Begin to listen."""
        self._hub.add(self, self._topics)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening."""
        self._hub.remove(self, self._topics)


class Hub:
    """Hands each change to the subscribers of its topic and to the listeners of everything."""

    def __init__(self) -> None:
        self._subscribers: dict[str, dict[Subscription, None]] = {}
        self._listeners: list[Callable[[str], None]] = []

    def subscribe(self, *topics: str) -> Subscription:
        """Return a subscription; it listens while it is entered."""
        return Subscription(self, topics)

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call ``listener`` with every topic, for as long as the hub lives."""
        self._listeners.append(listener)

    def publish(self, topic: str) -> None:
        """Tell everyone concerned that something changed."""
        for listener in self._listeners:
            listener(topic)
        if topic == "*":
            self._doubt_everything()
        for subscription in tuple(self._subscribers.get(topic, ())):
            subscription.notify(topic)

    def _doubt_everything(self) -> None:
        """Hints may have been missed, so everything may have changed; only this process's own end has not come."""
        for topic, subscriptions in tuple(self._subscribers.items()):
            for subscription in () if topic == DRAIN_TOPIC else tuple(subscriptions):
                subscription.notify(topic)

    def followed(self, topic: str) -> bool:
        """Whether anyone here listens to the topic."""
        return topic in self._subscribers

    def add(self, subscription: Subscription, topics: Iterable[str]) -> None:
        """Used by ``Subscription``."""
        for topic in topics:
            self._subscribers.setdefault(topic, {})[subscription] = None

    def remove(self, subscription: Subscription, topics: Iterable[str]) -> None:
        """Used by ``Subscription``."""
        for topic in topics:
            remaining = self._subscribers.get(topic)
            if remaining is not None:
                remaining.pop(subscription, None)
                if not remaining:
                    del self._subscribers[topic]
