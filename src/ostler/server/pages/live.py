"""The one event stream of a page: what changed on it, and the newest lines of the log that it shows.

A page names its topics (``runs``, ``run:ID``, ``log:JOB:OFFSET`` …). The store's hints say what happened to rows; here
stands which pages that concerns. A page is told at once, and then only so often, however much happens. What happened
shortly before a page began to listen is told again, so that nothing falls between drawing it and listening.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Final, NamedTuple

import msgspec
import structlog

from ostler.effects import Clock
from ostler.server.hub import Hub
from ostler.server.log_followers import DRAIN_TOPIC, KEEP_ALIVE_SECONDS, Ended, LogFollowers, Piece, Place

log = structlog.get_logger("ostler.server")

NEWEST_LINES: Final = 1000
"""A browser gets at most so many lines an event: it keeps no more."""

_MOST_TOPICS = 32
_EVERYTHING = "*"
_LISTENED: Mapping[str, tuple[str, ...]] = {
    "runs": ("runs", "run:*"),
    "run:": ("run:{id}",),
    "workflows": ("targets", "target:*", "runs"),
    "workflow:": ("target:*", "runs"),
    "queue": ("queue:*", "run:*", "facts:*", "pools"),
    "pools": ("pools", "pool:*", "queue:*", "runners", "run:*"),
    "pool:": ("pools", "pool:{id}", "queue:{id}", "run:*"),
    "runners": ("runners", "runner:*", "run:*"),
    "runner:": ("runner:{id}", "facts:{id}", "run:*"),
}
"""The hints that concern a topic of a page."""

_RUN_PAUSE_SECONDS = 0.25
_LIST_PAUSE_SECONDS = 1.0
_LOG_PAUSE_SECONDS = 0.04
_RECENT_MICROS = 15_000_000
_RECENT_TOPICS = 10_000
_WAITING_EVENTS = 8

_encode = msgspec.json.Encoder().encode
_KEEP_ALIVE = b": still here\n\n"
_SIGNED_OUT = b"event: signed-out\ndata: {}\n\n"

Feed = asyncio.Queue[bytes | None]


class Asked(NamedTuple):
    """What a page wants to hear of."""

    changes: tuple[str, ...]
    logs: Mapping[str, Place]


def asked(topics: str, last_event_id: str) -> Asked:
    """Read a page's topics; a stream that was cut off goes on where its last event was."""
    changes: list[str] = []
    logs: dict[str, Place] = {}
    for topic in dict.fromkeys(topics.split(",")[:_MOST_TOPICS]):
        kind, _, rest = topic.partition(":")
        if kind == "log":
            job, _, offset = rest.rpartition(":")
            logs[job] = Place.parse(f"0.{offset}") or Place(0, 0)
        elif (f"{kind}:" if rest else kind) in _LISTENED:
            changes.append(topic)
    for resumed in last_event_id.split(","):
        job, _, text = resumed.partition("@")
        place = Place.parse(text)
        if place is not None and job in logs:
            logs[job] = place
    return Asked(tuple(changes), logs)


class PageStreams:
    """See the module."""

    def __init__(self, followers: LogFollowers, hub: Hub, clock: Clock) -> None:
        self._followers = followers
        self._clock = clock
        self._hub = Hub()
        self._recent: OrderedDict[str, int] = OrderedDict()
        hub.listen(self._heard)

    async def follow(self, wanted: Asked, signed_in: Callable[[], Awaitable[bool]]) -> AsyncGenerator[bytes]:
        """Yield events until the server drains, or the person's session ends."""
        feed: Feed = asyncio.Queue(_WAITING_EVENTS)
        places = dict(wanted.logs)
        parts = [self._watch(topic, feed) for topic in wanted.changes]
        parts += [self._tail(job, places, feed) for job in wanted.logs]
        parts += [self._keep_alive(signed_in, feed)]
        tasks = [asyncio.create_task(_to_the_end(part, feed)) for part in parts]
        try:
            yield b"retry: 500\n\n"
            while (event := await feed.get()) is not None:
                yield event
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, topic: str, feed: Feed) -> None:
        kind, colon, identity = topic.partition(":")
        listened = [each.format(id=identity) for each in _LISTENED[kind + colon]]
        event = b"event: changed\ndata: %b\n\n" % _encode({"topic": topic})
        pause = _RUN_PAUSE_SECONDS if kind == "run" else _LIST_PAUSE_SECONDS
        with self._hub.subscribe(_EVERYTHING, *listened) as changes:
            if self._happened_lately(listened):
                await feed.put(event)
            while True:
                await changes.changed()
                await feed.put(event)
                await asyncio.sleep(pause)

    async def _tail(self, job: str, places: dict[str, Place], feed: Feed) -> None:
        async for piece in self._followers.pieces(job, places[job], tail=True, most_lines=NEWEST_LINES):
            if isinstance(piece, Piece):
                places[job] = piece.place
                identity = ",".join(f"{each}@{place.fence}.{place.offset}" for each, place in places.items())
                await feed.put(b"event: log\nid: %b\ndata: %b\n\n" % (identity.encode(), piece.data))
                await asyncio.sleep(_LOG_PAUSE_SECONDS)
            elif isinstance(piece, Ended):
                await feed.put(b"event: end\ndata: %b\n\n" % _encode({"job": job}))

    async def _keep_alive(self, signed_in: Callable[[], Awaitable[bool]], feed: Feed) -> None:
        with self._hub.subscribe(DRAIN_TOPIC) as draining:
            while True:
                if not await signed_in():
                    await feed.put(_SIGNED_OUT)
                    break
                if await draining.changed(KEEP_ALIVE_SECONDS):
                    break
                await feed.put(_KEEP_ALIVE)
        await feed.put(None)

    def _heard(self, topic: str) -> None:
        kind, colon, _ = topic.partition(":")
        if kind == "log":
            return
        for each in (topic, f"{kind}:*") if colon else (topic,):
            self._recent[each] = self._clock.now()
            self._recent.move_to_end(each)
            self._hub.publish(each)
        while len(self._recent) > _RECENT_TOPICS:
            self._recent.popitem(last=False)

    def _happened_lately(self, listened: list[str]) -> bool:
        since = self._clock.now() - _RECENT_MICROS
        return any(self._recent.get(each, since) > since for each in (_EVERYTHING, *listened))


async def _to_the_end(part: Awaitable[None], feed: Feed) -> None:
    """Run a part of a stream; if it breaks, the stream ends, and the page comes back for another."""
    try:
        await part
    except asyncio.CancelledError:
        raise
    except Exception:
        log.exception("page_stream_broken")
        await feed.put(None)
