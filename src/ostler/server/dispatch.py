"""Bringing waiting runners and waiting jobs together.

Everything that asks the queue for something (polls, grants, results that carry the next poll) is collected while a
transaction is under way and served together by the next one: under load the rounds grow, and the cost per job falls.
What a runner may take is decided in memory by demand class; the store only serves the front of those classes.

What is remembered here (classes, facts about runners, which lines found nothing) is refreshed by hints and looked at
again every few seconds, so that a lost hint delays a job and never loses it.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec
import structlog
from sqlalchemy import Connection

from ostler.domain.job import Slot
from ostler.domain.machine import Refused
from ostler.domain.runner import RunnerStatus
from ostler.effects import Effects
from ostler.protocol.problem import problem
from ostler.protocol.v1.runner_messages import FinishRequest
from ostler.scheduling.demand import RunnerFacts, by_pool
from ostler.server.call import Refusal
from ostler.server.held_polls import STRETCH, Asked, HeldPoll, HeldPolls, Line, Told
from ostler.server.hub import Hub
from ostler.server.metrics import Metrics
from ostler.store import attempts, claims, demands, runners
from ostler.store.attempts import Finish, Finished, LogIncomplete, Start, Started
from ostler.store.claims import Claimed, Want
from ostler.store.database import Database

log = structlog.get_logger("ostler.server")

LOOK_AGAIN_SECONDS: Final = 3.0
_AFTER_FAILURE_SECONDS = 0.5

Settled = Finished | LogIncomplete | Refused
Granted = Started | Refused

Wanted = TypeVar("Wanted")
Outcome = TypeVar("Outcome")


class _Request(NamedTuple, Generic[Wanted, Outcome]):
    """Something to be decided by the next transaction, and who waits for it."""

    wanted: Wanted
    future: "asyncio.Future[Outcome]"

    def answer(self, outcome: Outcome) -> None:
        if not self.future.done():
            self.future.set_result(outcome)

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class _Round(NamedTuple):
    """What one transaction decided."""

    granted: list[Granted]
    settled: list[Settled]
    claimed: list[Claimed | None]


class Dispatcher:
    """One per process. ``run`` is its loop; the rest is called by the handlers of requests."""

    def __init__(self, database: Database, hub: Hub, effects: Effects, metrics: Metrics) -> None:
        self._database = database
        self._effects = effects
        self._metrics = metrics
        self._polls = HeldPolls()
        self._starts: list[_Request[Start, Granted]] = []
        self._finishes: list[_Request[Finish, Settled]] = []
        self._facts: dict[str, RunnerFacts] = {}
        self._dirty: set[str] = set()
        self._event = asyncio.Event()
        self._draining = False
        hub.listen(self._hinted)

    async def hold(self, runner_id: str, slots: Sequence[Slot], key: str, wait_seconds: float) -> list[Claimed] | Told:
        """Wait for work for the free slots, or until there is a reason to look at the runner's leases."""
        if self._draining:
            return Told(draining=True)
        facts = self._facts.get(runner_id) or await self._load_facts(runner_id)
        poll = HeldPoll(facts, slots, key)
        self._polls.add(poll)
        self._metrics.held_polls.set(len(self._polls))
        if slots:
            self._wake(facts.pool_id)
        timer = asyncio.get_running_loop().call_later(wait_seconds, poll.answer, Told())
        try:
            return await poll.future
        finally:
            timer.cancel()
            self._polls.drop(poll)
            self._metrics.held_polls.set(len(self._polls))

    async def start(self, start: Start) -> Granted:
        """Ask for a start grant."""
        request: _Request[Start, Granted] = _Request(start, asyncio.get_running_loop().create_future())
        self._starts.append(request)
        self._event.set()
        return await request.future

    async def finish(self, runner_id: str, result: FinishRequest) -> Settled:
        """Hand in a result."""
        finish = Finish(runner_id, result)
        request: _Request[Finish, Settled] = _Request(finish, asyncio.get_running_loop().create_future())
        self._finishes.append(request)
        self._event.set()
        return await request.future

    def drain(self) -> None:
        """Answer every held poll; the runners go to another replica, or come back later."""
        self._draining = True
        for poll in self._polls.every():
            poll.answer(Told(draining=True))

    async def run(self) -> None:
        """Serve rounds for as long as the process lives."""
        while True:
            if not (self._starts or self._finishes or self._dirty):
                self._event.clear()
                try:
                    async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                        await self._event.wait()
                except TimeoutError:
                    self._look_again()
                    continue
            try:
                await self._serve()
            except Exception as error:  # noqa: BLE001 - whatever fails, the next round must come
                log.warning("round_failed", error=repr(error))
                await asyncio.sleep(_AFTER_FAILURE_SECONDS)

    async def _serve(self) -> None:
        starts, self._starts = self._starts, []
        finishes, self._finishes = self._finishes, []
        dirty, self._dirty = self._dirty, set()
        try:
            if not self._polls.knows_classes:
                self._polls.learn(by_pool(await self._database.read(demands.all_classes)))
            asked = self._polls.ask(dirty)
            if not (asked or starts or finishes):
                return
            marks = self._polls.marks(dirty)
            outcome = await self._database.run(
                _decide,
                [request.wanted for request in starts],
                [request.wanted for request in finishes],
                [each.want for each in asked],
                self._effects.clock.now(),
            )
        except Exception as error:
            self._dirty |= dirty
            for request in (*starts, *finishes):
                request.fail(error)
            raise
        for request, granted in zip(starts, outcome.granted, strict=True):
            request.answer(granted)
        for request, settled in zip(finishes, outcome.settled, strict=True):
            request.answer(settled)
        self._hand_out(asked, outcome.claimed, marks)

    def _hand_out(self, asked: Sequence[Asked], claimed: Sequence[Claimed | None], marks: dict[str, set[Line]]) -> None:
        work: dict[HeldPoll, list[Claimed]] = {}
        served: dict[Line, int] = {}
        for each, claim in zip(asked, claimed, strict=True):
            if claim is None:
                marks[each.line[0]].add(each.line)
            else:
                work.setdefault(each.poll, []).append(claim)
                served[each.line] = served.get(each.line, 0) + 1
        self._metrics.claims.inc(sum(served.values()))
        for poll, claims_of_poll in work.items():
            self._polls.drop(poll)
            poll.answer(claims_of_poll)
        for line, count in served.items():
            if count == STRETCH:
                self._wake(line[0])

    async def _load_facts(self, runner_id: str) -> RunnerFacts:
        found = await self._database.read(runners.facts, runner_id=runner_id)
        if not found:
            raise Refusal(problem("unauthenticated", "the runner is not known; it must enrol again"))
        # It polls, so it is there; which slots are free it knows best.
        there = RunnerStatus.ERROR if found[0].status is RunnerStatus.ERROR else RunnerStatus.IDLE
        facts = msgspec.structs.replace(found[0], status=there, busy=frozenset())
        self._facts[runner_id] = facts
        return facts

    def _wake(self, pool_id: str) -> None:
        self._dirty.add(pool_id)
        self._event.set()

    def _look_again(self) -> None:
        for pool_id in self._polls.pools():
            self._polls.may_have_work(pool_id)
            self._wake(pool_id)

    def _hinted(self, topic: str) -> None:
        kind, _, identity = topic.partition(":")
        if kind == "queue":
            self._polls.may_have_work(identity)
            self._wake(identity)
        elif kind == "facts":
            self._facts.pop(identity, None)
        elif kind == "pool":
            self._facts.clear()
        elif kind == "runner":
            poll = self._polls.of(identity)
            if poll is not None:
                poll.answer(Told())
        elif kind == "demands":
            self._polls.forget_classes()
            self._wake(identity)
        elif kind == "*":
            self._facts.clear()
            self._polls.forget_classes()
            for poll in self._polls.every():
                poll.answer(Told())


def _decide(
    connection: Connection, starts: Sequence[Start], finishes: Sequence[Finish], wants: Sequence[Want], now: int
) -> _Round:
    return _Round(
        list(attempts.start_many(connection, starts, now)) if starts else [],
        list(attempts.finish_many(connection, finishes, now)) if finishes else [],
        list(claims.claim_batch(connection, wants, now)) if wants else [],
    )
