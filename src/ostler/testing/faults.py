"""What goes wrong in a run, how often, and the proof that it did.

Each seed enables its own subset of faults at its own rates, so that some runs are calm enough to get far and others
hostile in one direction only; uniform noise would hide the bugs that need a long quiet stretch first. A fault is
counted where it takes effect, never where it is merely planned: a campaign can thus show that nothing it claims to
survive was left untried.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum

from ostler.effects import Random


class Fault(StrEnum):
    """Everything the simulated world can do to a program."""

    DELAY = "network.delay"
    REQUEST_LOST = "network.request_lost"
    REPLY_LOST = "network.reply_lost"
    DUPLICATE = "network.duplicate"
    RESET_REQUEST = "network.reset_request"
    RESET_REPLY = "network.reset_reply"
    SLOW_STREAM = "network.slow_stream"
    KILL_AT_SEND = "network.kill_at_send"
    PARTITION = "network.partition"
    REFUSED = "network.refused"
    TORN = "disk.torn"
    UNNAMED = "disk.unnamed"
    UNDELETED = "disk.undeleted"
    DISK_FULL = "disk.full"
    DISK_ERROR = "disk.error"
    KILL_AT_WRITE = "disk.kill_at_write"
    KILL = "process.kill"
    POWER_LOSS = "node.power_loss"
    KILL_AT_LAUNCH = "process.kill_at_launch"
    LAUNCH_FAILED = "process.launch_failed"
    PAUSE = "process.pause"
    CLOCK_JUMP = "clock.jump"
    CLOCK_SKEW = "clock.skew"
    RESTART = "process.restart"
    DATABASE_SLOW = "database.slow"
    DATABASE_REFUSED = "database.refused"
    DATABASE_UNCERTAIN = "database.uncertain"
    KILL_AT_COMMIT = "database.kill_at_commit"


RATES: Mapping[Fault, float] = {
    Fault.DELAY: 0.05,
    Fault.REQUEST_LOST: 0.03,
    Fault.REPLY_LOST: 0.03,
    Fault.DUPLICATE: 0.03,
    Fault.RESET_REQUEST: 0.01,
    Fault.RESET_REPLY: 0.02,
    Fault.SLOW_STREAM: 0.1,
    Fault.KILL_AT_SEND: 0.005,
    Fault.PARTITION: 0.2,
    Fault.TORN: 0.7,
    Fault.UNNAMED: 0.5,
    Fault.UNDELETED: 0.3,
    Fault.DISK_FULL: 0.05,
    Fault.DISK_ERROR: 0.002,
    Fault.KILL_AT_WRITE: 0.01,
    Fault.KILL: 0.3,
    Fault.POWER_LOSS: 0.15,
    Fault.KILL_AT_LAUNCH: 0.02,
    Fault.LAUNCH_FAILED: 0.02,
    Fault.PAUSE: 0.2,
    Fault.CLOCK_JUMP: 0.1,
    Fault.CLOCK_SKEW: 0.5,
    Fault.RESTART: 0.15,
    Fault.DATABASE_SLOW: 0.02,
    Fault.DATABASE_REFUSED: 0.02,
    Fault.DATABASE_UNCERTAIN: 0.02,
    Fault.KILL_AT_COMMIT: 0.003,
}
"""Chances per opportunity: a message, a write, a node that starts, or a turn of the chaos (see `chaos`)."""


class Faults:
    """Answers "does it go wrong here?" and keeps count."""

    def __init__(self, random: Random, rates: Mapping[Fault, float]) -> None:
        self.rates = dict(rates)
        self.counts: Counter[Fault] = Counter()
        self.enabled = True
        self._random = random

    def drawn(self, fault: Fault) -> bool:
        """Draw only; whoever makes it happen counts it when it takes effect."""
        rate = self.rates.get(fault, 0.0)
        return self.enabled and rate > 0 and self._random.uniform(0, 1) < rate

    def fires(self, fault: Fault) -> bool:
        """Draw, and count if it is to happen; the caller then makes it happen at once."""
        if not self.drawn(fault):
            return False
        self.counts[fault] += 1
        return True

    def count(self, fault: Fault) -> None:
        """Count a fault that follows from another, as a refusal follows from a kill."""
        self.counts[fault] += 1


def planned(random: Random) -> dict[Fault, float]:
    """The rates of one run: about half of the faults, each up to four times as rare or twice as frequent."""
    return {
        fault: min(1.0, rate * 2 ** random.uniform(-2, 1))
        for fault, rate in RATES.items()
        if random.uniform(0, 1) < 0.5
    }
