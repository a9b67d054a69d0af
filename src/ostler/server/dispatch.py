"""Bringing waiting runners and waiting jobs together.

Everything that asks the queue for something (polls, grants, results that carry the next poll) is collected while a
transaction is under way and served together by the next one: under load the rounds grow, and the cost per job falls.
What a runner may take is decided in memory by demand class; the store only serves the front of those classes.

What is remembered here (classes, facts about runners, which lines found nothing) is refreshed by hints and looked at
again every few seconds, so that a lost hint delays a job and never loses it.
"""

import asyncio
import contextlib
from collections.abc import Generator, Sequence, Set as AbstractSet
from typing import Final

import msgspec
import structlog
from sqlalchemy import Connection

from ostler.domain.job import Slot
from ostler.domain.runner import RunnerStatus
from ostler.effects import Effects
from ostler.protocol.problem import problem
from ostler.protocol.v1.runner_messages import Directive, LeaseRef
from ostler.scheduling.demand import RunnerFacts, by_pool
from ostler.server.call import Refusal
from ostler.server.held_polls import Asked, Attention, HeldPoll, HeldPolls, Line, Told
from ostler.server.hub import Hub
from ostler.server.metrics import Metrics
from ostler.server.rounds import (
    Gathered,
    Granted,
    HandedIn,
    Outcome,
    Renewal,
    Request,
    Round,
    Settled,
    Wanted,
    Wishes,
    decide,
)
from ostler.store import demands, runners
from ostler.store.attempts import Start
from ostler.store.claims import Claimed
from ostler.store.database import Database
from ostler.store.errors import DatabaseClosed, DatabaseUnavailable, DatabaseUncertain

log = structlog.get_logger("ostler.server")

LOOK_AGAIN_SECONDS: Final = 3.0
_AFTER_FAILURE_SECONDS = 0.5
_ONE_LOOK_SECONDS = 5.0
_LOOKS_PER_REFRESH = 10
_MOST_FACTS = 50_000
_MOST_SINGLE_READS = 16


class Dispatcher:
    """One per process. ``run`` is its loop; the rest is called by the handlers of requests."""

    def __init__(self, database: Database, hub: Hub, effects: Effects, metrics: Metrics) -> None:
        self._database = database
        self._effects = effects
        self._metrics = metrics
        self._polls = HeldPolls()
        self._gathered = Gathered()
        self._attentive: dict[str, set[Attention]] = {}
        self._facts: dict[str, RunnerFacts] = {}
        self._loading: dict[str, bool] = {}
        self._doubted: set[str] = set()
        self._classes_known = False
        self._looks = 0
        self._event = asyncio.Event()
        self._draining = False
        hub.listen(self._hinted)

    @contextlib.contextmanager
    def attending(self, runner_id: str) -> Generator[Attention]:
        """Note the hints at a runner between a look at its leases and the wait for a hint."""
        attention = Attention()
        self._attentive.setdefault(runner_id, set()).add(attention)
        try:
            yield attention
        finally:
            others = self._attentive[runner_id]
            others.remove(attention)
            if not others:
                del self._attentive[runner_id]

    async def hold(
        self,
        runner_id: str,
        slots: Sequence[Slot],
        key: str,
        wait_seconds: float,
        left: asyncio.Future[None] | None = None,
        attention: Attention | None = None,
    ) -> list[Claimed] | Told:
        """Wait for work for the free slots, or until there is a reason to look at the runner's leases.

        Without time to wait, one look at the queue is taken. Once it has ``left``, a runner waits no longer: a job that
        is claimed for nobody would stay where it is until the lease of its claim runs out.
        """
        if self._draining:
            return Told(draining=True, final=True)
        facts = self._facts.get(runner_id) or await self._load_facts(runner_id)
        brief = wait_seconds <= 0
        if (brief and not slots) or (attention is not None and attention.hinted):
            return Told()
        poll = HeldPoll(facts, slots, key, brief=brief)
        self._polls.add(poll)
        self._metrics.held_polls.set(len(self._polls))
        if slots:
            self._wake(facts.pool_id)
        patience = _ONE_LOOK_SECONDS if brief else wait_seconds
        timer = asyncio.get_running_loop().call_later(patience, poll.answer, Told())

        def withdraw(_left: asyncio.Future[None]) -> None:
            poll.answer(Told(final=True))
            self._polls.drop(poll)

        if left is not None:
            left.add_done_callback(withdraw)
        try:
            return await poll.future
        finally:
            if left is not None:
                left.remove_done_callback(withdraw)
            timer.cancel()
            self._polls.drop(poll)
            self._metrics.held_polls.set(len(self._polls))

    async def start(self, start: Start) -> Granted:
        """Ask for a start grant."""
        return await self._ask(self._gathered.starts, start)

    async def finish(self, result: HandedIn) -> Settled:
        """Hand in a result."""
        return await self._ask(self._gathered.finishes, result)

    async def renew(self, runner_id: str, leases: Sequence[LeaseRef]) -> list[Directive]:
        """Renew what a poll names; return what the runner must be told about it."""
        return await self._ask(self._gathered.renewals, Renewal(runner_id, leases))

    def drain(self) -> None:
        """Answer every held poll; the runners go to another replica, or come back later."""
        self._draining = True
        for poll in self._polls.every():
            poll.answer(Told(draining=True, final=True))

    async def run(self) -> None:
        """Serve rounds for as long as the process lives."""
        loop = asyncio.get_running_loop()
        look_at = loop.time() + LOOK_AGAIN_SECONDS
        while True:
            if not self._gathered:
                self._event.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(look_at):
                        await self._event.wait()
            if loop.time() >= look_at:
                self._look_again()
                look_at = loop.time() + LOOK_AGAIN_SECONDS
            try:
                await self._serve()
            except Exception as error:  # noqa: BLE001 - whatever fails, the next round must come
                log.warning("round_failed", error=repr(error))
                await asyncio.sleep(_AFTER_FAILURE_SECONDS)

    async def _ask(self, requests: list[Request[Wanted, Outcome]], wanted: Wanted) -> Outcome:
        request: Request[Wanted, Outcome] = Request(wanted, asyncio.get_running_loop().create_future())
        requests.append(request)
        self._event.set()
        return await request.future

    async def _serve(self) -> None:
        gathered, self._gathered = self._gathered, Gathered()
        try:
            gathered.dirty |= await self._refresh()
            brief = self._polls.brief()
            asked = self._polls.ask(gathered.dirty)
            wishes = gathered.wishes(asked)
            if not any(wishes):
                _answer(brief)
                return
            marks = self._polls.marks(gathered.dirty)
            outcome = await self._decided(wishes)
        except Exception as error:
            self._gathered.dirty |= gathered.dirty
            gathered.fail(error)
            raise
        gathered.answer(outcome)
        self._hand_out(asked, outcome.claimed, marks)
        _answer(brief)

    async def _decided(self, wishes: Wishes) -> Round:
        """Decide all wishes together; if one of them cannot be decided, each alone, so that it spoils no other."""
        now = self._effects.clock.now()
        try:
            return await self._database.run(decide, wishes, now)
        except (DatabaseUnavailable, DatabaseUncertain, DatabaseClosed):
            raise
        except Exception as error:  # noqa: BLE001 - whose it is shows when it is tried alone
            log.warning("round_divided", error=repr(error))
        starts = [await self._alone(Wishes(starts=[each]), now) for each in wishes.starts]
        finishes = [await self._alone(Wishes(finishes=[each]), now) for each in wishes.finishes]
        renewals = [await self._alone(Wishes(renewals=[each]), now) for each in wishes.renewals]
        claims_made = [await self._alone(Wishes(wants=[each]), now) for each in wishes.wants]
        return Round(
            [each if isinstance(each, Exception) else each.granted[0] for each in starts],
            [each if isinstance(each, Exception) else each.settled[0] for each in finishes],
            [each if isinstance(each, Exception) else each.renewed[0] for each in renewals],
            [None if isinstance(each, Exception) else each.claimed[0] for each in claims_made],
        )

    async def _alone(self, wishes: Wishes, now: int) -> Round | Exception:
        try:
            return await self._database.run(decide, wishes, now)
        except Exception as error:
            log.exception("request_failed_alone", error=repr(error))
            return error

    async def _refresh(self) -> set[str]:
        """Read again what hints have put in doubt, and return whose pools may now be served otherwise.

        A hint that comes meanwhile puts it in doubt once more.
        """
        if not self._classes_known:
            self._classes_known = True
            try:
                self._polls.learn(by_pool(await self._database.read(demands.all_classes)))
            except BaseException:
                self._classes_known = False
                raise
        doubted, self._doubted = self._doubted, set()
        if not doubted:
            return set()
        try:
            found = await self._database.read(_facts_of, doubted)
        except BaseException:
            self._doubted |= doubted
            raise
        for facts in found:
            self._polls.learn_facts(_present(facts))
        return {facts.pool_id for facts in found}

    def _hand_out(self, asked: Sequence[Asked], claimed: Sequence[Claimed | None], marks: dict[str, set[Line]]) -> None:
        work: dict[HeldPoll, list[Claimed]] = {}
        fronts: dict[Line, list[bool]] = {}
        now = self._effects.clock.now()
        for each, claim in zip(asked, claimed, strict=True):
            fronts.setdefault(each.line, []).append(claim is not None)
            if claim is None:
                # A brief poll may have found nothing because its result was refused and its slot is taken still.
                if not each.poll.brief:
                    marks[each.line[0]].add(each.line)
            else:
                work.setdefault(each.poll, []).append(claim)
                if not claim.repeated:
                    self._metrics.claims.inc()
                    self._metrics.queue_wait.observe(max(0, now - claim.created_at) / 1_000_000)
        for poll, claims_of_poll in work.items():
            self._polls.drop(poll)
            poll.answer(claims_of_poll)
        for line, served in fronts.items():
            if self._polls.served(line, len(served), sum(served)):
                self._wake(line[0])

    async def _load_facts(self, runner_id: str) -> RunnerFacts:
        self._loading[runner_id] = False
        try:
            found = await self._database.read(runners.facts, runner_id=runner_id)
        finally:
            changed = self._loading.pop(runner_id, True)
        if not found:
            raise Refusal(problem("not_found", "the runner is not connected; it must say hello again"))
        facts = _present(found[0])
        if changed:
            self._doubted.add(runner_id)
        else:
            if len(self._facts) >= _MOST_FACTS:
                self._facts.clear()
            self._facts[runner_id] = facts
        return facts

    def _wake(self, pool_id: str) -> None:
        self._gathered.dirty.add(pool_id)
        self._event.set()

    def _look_again(self) -> None:
        self._looks += 1
        if self._looks % _LOOKS_PER_REFRESH == 0:
            self._classes_known = False
        for pool_id in self._polls.pools():
            self._polls.may_have_work(pool_id)
            self._wake(pool_id)

    def _hinted(self, topic: str) -> None:
        kind, _, identity = topic.partition(":")
        if kind == "queue":
            self._polls.may_have_work(identity)
            self._wake(identity)
        elif kind == "facts":
            self._doubt(identity)
        elif kind == "runner":
            for attention in self._attentive.get(identity, ()):
                attention.hinted = True
            poll = self._polls.of(identity)
            if poll is not None:
                poll.answer(Told())
        elif kind == "demands":
            self._classes_known = False
            self._wake(identity)
        elif kind in ("pools", "*"):
            for runner_id in {*self._facts, *self._loading, *(poll.facts.id for poll in self._polls.every())}:
                self._doubt(runner_id)
        if kind == "*":
            self._classes_known = False
            for attention in (each for attentive in self._attentive.values() for each in attentive):
                attention.hinted = True
            for poll in self._polls.every():
                poll.answer(Told())

    def _doubt(self, runner_id: str) -> None:
        self._facts.pop(runner_id, None)
        if runner_id in self._loading:
            self._loading[runner_id] = True
        poll = self._polls.of(runner_id)
        if poll is not None:
            self._doubted.add(runner_id)
            self._wake(poll.facts.pool_id)


def _facts_of(connection: Connection, runner_ids: AbstractSet[str]) -> list[RunnerFacts]:
    if len(runner_ids) > _MOST_SINGLE_READS:
        return [facts for facts in runners.facts(connection) if facts.id in runner_ids]
    return [facts for runner_id in sorted(runner_ids) for facts in runners.facts(connection, runner_id=runner_id)]


def _present(facts: RunnerFacts) -> RunnerFacts:
    """It polls, so it is there; which slots are free it knows best."""
    there = RunnerStatus.ERROR if facts.status is RunnerStatus.ERROR else RunnerStatus.IDLE
    return msgspec.structs.replace(facts, status=there, busy=frozenset())


def _answer(brief: Sequence[HeldPoll]) -> None:
    for poll in brief:
        poll.answer(Told())
