"""The runner's slots and the lives that occupy them (rule 6), and which poll they call for."""

import asyncio
from collections.abc import Iterable

from ostler.agent.job import JobLife
from ostler.domain.job import JobKind, Slot
from ostler.effects import Ids
from ostler.protocol.v1.runner_messages import ClaimRequest, HeldAttempt, LeaseRef


class Slots:
    """Who is where. ``changed`` is set whenever a poll that is out no longer says what is true."""

    def __init__(self, kinds: Iterable[JobKind], ids: Ids) -> None:
        self._ids = ids
        self._slots = sorted({kind.slot for kind in kinds}, reverse=True)
        self._lives: dict[tuple[str, int], JobLife] = {}
        self._promised: set[Slot] = set()
        self.open = True
        """False while no new work is wanted: draining, no disk, nothing but directives."""
        self.draining = False
        self.changed = asyncio.Event()

    @property
    def lives(self) -> list[JobLife]:
        """Everything that is held, finished but unacknowledged included."""
        return list(self._lives.values())

    @property
    def held(self) -> list[HeldAttempt]:
        """The same as the server is told at a reconnection."""
        return [HeldAttempt(life.entry.job_id, life.entry.fence, life.phase) for life in self.lives]

    def find(self, job_id: str, fence: int) -> JobLife | None:
        """Return the life of an attempt."""
        return self._lives.get((job_id, fence))

    def occupied(self, slot: Slot) -> bool:
        """Return whether a job is running there; one that only waits for its acknowledgement does not count."""
        return any(life.entry.slot is slot and life.entry.result is None for life in self.lives)

    def occupy(self, life: JobLife) -> None:
        """Put a life into its slot."""
        self._lives[life.entry.job_id, life.entry.fence] = life
        self.changed.set()

    def vacate(self, life: JobLife) -> None:
        """Take a life that ended out of its slot."""
        self._lives.pop((life.entry.job_id, life.entry.fence), None)
        self.changed.set()

    def close(self) -> None:
        """Take no new work from now on."""
        self.open = False
        self.changed.set()

    def drain(self) -> None:
        """Take no new work ever again."""
        self.draining = True
        self.close()

    def reopen(self) -> None:
        """Take work again, unless draining."""
        if not self.open and not self.draining:
            self.open = True
            self.changed.set()

    def free(self) -> list[Slot]:
        """Return the slots that want work and that no other poll asks for."""
        taken = {life.entry.slot for life in self.lives} | self._promised
        return [slot for slot in self._slots if slot not in taken] if self.open else []

    def poll(self, wait_ms: int) -> ClaimRequest:
        """Return the poll that the present state calls for."""
        return ClaimRequest(self._ids.new("poll"), self.free(), wait_ms, self._leases())

    def follow_up(self, slot: Slot, leaving: tuple[str, int]) -> ClaimRequest | None:
        """Return the poll that the result of a leaving life may carry; its slot is promised until ``settle``."""
        if not self.open:
            return None
        self._promised.add(slot)
        leases = [ref for ref in self._leases() if (ref.job_id, ref.fence) != leaving]
        return ClaimRequest(self._ids.new("poll"), [slot], 0, leases)

    def settle(self, slot: Slot) -> None:
        """The carried poll was answered, or will never be."""
        self._promised.discard(slot)
        self.changed.set()

    def _leases(self) -> list[LeaseRef]:
        """The attempts to ask about: one that is being cancelled has had its answer, and would end every poll."""
        return [LeaseRef(life.entry.job_id, life.entry.fence) for life in self.lives if not life.cancelling]
