"""The polls that are held open, arranged so that finding the runners for a job does not mean looking at all of them.

Runners that match the same demand classes stand in one line; whoever has waited longest is first. A job that arrives
asks only the front of the lines. The front is short, because most often one job came; while it is wholly served it
doubles, so that many jobs reach many runners in a few transactions.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ostler.domain.job import Slot
from ostler.scheduling.demand import DemandClass, RunnerFacts, matching
from ostler.store.claims import Claimed, Want

FRONT: Final = 8
"""How many runners of one line are asked about first."""

STRETCH: Final = 256
"""How many runners of one line are asked about in one transaction at most."""

Line = tuple[str, Slot, tuple[str, ...]]
"""Pool, slot, matching demand classes."""


class Told(NamedTuple):
    """The poll is answered because something else than work concerns the runner, or because its time is over.

    ``final`` says that holding it again would be wrong: this replica drains, or another poll has taken its place.
    """

    draining: bool = False
    final: bool = False


class Attention:
    """Whether a runner was hinted at since somebody began to look at its leases, perhaps too early."""

    __slots__ = ("hinted",)

    def __init__(self) -> None:
        self.hinted = False


class HeldPoll:
    """One runner's poll. A brief one came with a result: one look is taken for it, and nothing is waited for."""

    __slots__ = ("brief", "facts", "future", "key", "lines", "slots")

    def __init__(self, facts: RunnerFacts, slots: Sequence[Slot], key: str, *, brief: bool = False) -> None:
        self.brief = brief
        self.facts = facts
        self.slots = tuple(slots)
        self.key = key
        self.lines: tuple[Line, ...] = ()
        self.future: asyncio.Future[list[Claimed] | Told] = asyncio.get_running_loop().create_future()

    def answer(self, outcome: list[Claimed] | Told) -> None:
        """Answer the poll unless it is answered already."""
        if not self.future.done():
            self.future.set_result(outcome)


class Asked(NamedTuple):
    """A want of the next transaction, with the poll that it would answer and the line it stands in."""

    poll: HeldPoll
    line: Line
    want: Want


class HeldPolls:
    """All held polls of this process; one per runner, and brief ones beside it."""

    def __init__(self) -> None:
        self._polls: dict[str, HeldPoll] = {}
        self._brief: dict[HeldPoll, None] = {}
        self._lines: dict[str, dict[Line, dict[HeldPoll, None]]] = {}
        self._empty: dict[str, set[Line]] = {}
        self._stretches: dict[Line, int] = {}
        self._classes: dict[str, list[DemandClass]] = {}

    def __len__(self) -> int:
        """How many polls are held."""
        return len(self._polls)

    def learn(self, classes: dict[str, list[DemandClass]]) -> None:
        """Take the demand classes by pool and arrange every poll anew, if they are not what they were."""
        if classes == self._classes:
            return
        self._classes = classes
        self._lines.clear()
        self._empty.clear()
        self._stretches.clear()
        for poll in (*self._polls.values(), *self._brief):
            self._arrange(poll)

    def learn_facts(self, facts: RunnerFacts) -> None:
        """Take what is now known of a runner and have its poll stand where it belongs."""
        poll = self._polls.get(facts.id)
        if poll is not None and poll.facts != facts:
            self._leave(poll)
            poll.facts = facts
            self._arrange(poll)

    def add(self, poll: HeldPoll) -> None:
        """Hold a poll; an older one of the same runner is answered for good: its reply has no reader any more."""
        if poll.brief:
            self._brief[poll] = None
        else:
            before = self._polls.pop(poll.facts.id, None)
            if before is not None:
                self._leave(before)
                before.answer(Told(final=True))
            self._polls[poll.facts.id] = poll
        self._arrange(poll)

    def drop(self, poll: HeldPoll) -> None:
        """Hold a poll no longer."""
        self._leave(poll)
        self._brief.pop(poll, None)
        if self._polls.get(poll.facts.id) is poll:
            del self._polls[poll.facts.id]

    def of(self, runner_id: str) -> HeldPoll | None:
        """Return a runner's poll."""
        return self._polls.get(runner_id)

    def every(self) -> list[HeldPoll]:
        """Return all polls."""
        return list(self._polls.values())

    def brief(self) -> list[HeldPoll]:
        """Return the polls that the next round answers in any case."""
        return list(self._brief)

    def pools(self) -> set[str]:
        """Return the pools that somebody waits in."""
        return {pool_id for pool_id, lines in self._lines.items() if lines}

    def may_have_work(self, pool_id: str) -> None:
        """Forget which lines of a pool found nothing."""
        self._empty.pop(pool_id, None)

    def ask(self, pools: Iterable[str]) -> list[Asked]:
        """Return the front of every line in these pools that is not known to find nothing, and the brief ones."""
        asked: list[Asked] = []
        for pool_id in pools:
            empty = self._empty.setdefault(pool_id, set())
            for line, polls in self._lines.get(pool_id, {}).items():
                if line in empty:
                    continue
                front = self._stretches.get(line, FRONT)
                for poll, place in zip(polls, range(STRETCH), strict=False):
                    if place >= front and not poll.brief:
                        continue
                    want = Want(runner_id=poll.facts.id, slot=line[1], key=poll.key, demand_ids=line[2])
                    asked.append(Asked(poll, line, want))
        return asked

    def marks(self, pools: Iterable[str]) -> dict[str, set[Line]]:
        """Return the sets in which ``found_nothing`` may be noted; a hint that comes meanwhile disconnects them."""
        return {pool_id: self._empty.setdefault(pool_id, set()) for pool_id in pools}

    def served(self, line: Line, asked: int, given: int) -> bool:
        """Note how much of a line's front was served; return whether to ask on at once."""
        if given < asked:
            self._stretches.pop(line, None)
            return False
        self._stretches[line] = min(2 * self._stretches.get(line, FRONT), STRETCH)
        return True

    def _arrange(self, poll: HeldPoll) -> None:
        classes = self._classes.get(poll.facts.pool_id, ())
        lines: list[Line] = []
        for slot in poll.slots:
            candidates = matching(poll.facts, classes, slot)
            if candidates:
                lines.append((poll.facts.pool_id, slot, candidates))
        poll.lines = tuple(lines)
        for line in lines:
            self._lines.setdefault(poll.facts.pool_id, {}).setdefault(line, {})[poll] = None

    def _leave(self, poll: HeldPoll) -> None:
        pool = self._lines.get(poll.facts.pool_id, {})
        for line in poll.lines:
            polls = pool.get(line)
            if polls is not None:
                polls.pop(poll, None)
                if not polls:
                    del pool[line]
                    self._stretches.pop(line, None)
        poll.lines = ()
