"""How long a call may take and how it is repeated.

Two different waits, because there are two different troubles. A server that *answers* that it is overloaded is given
time (``wait_seconds``, doubled up to ``max_wait_seconds``, or what it asks for by Retry-After). A server that is *not
there* costs nobody anything by being knocked at, and its return should be noticed at once: those waits are short, and
their sum is bounded instead of their number. Both are drawn with full jitter so that a fleet does not come in waves.
"""

from typing import NamedTuple

from ostler.effects import Random

RETRYABLE_STATUSES = frozenset({429, 502, 503, 504})
LONGEST_RETRY_AFTER_SECONDS = 600.0


class Policy(NamedTuple):
    """The defaults suit a person at a terminal; the agent's come from its configuration."""

    timeout_seconds: float = 30.0
    retries: int = 2
    wait_seconds: float = 0.5
    max_wait_seconds: float = 10.0
    reconnect_seconds: float = 0.2
    max_reconnect_seconds: float = 2.5
    idle_seconds: float = 60.0
    """How long a stream may be silent before it counts as broken."""

    @property
    def patience_seconds(self) -> float:
        """How long one call keeps trying to reach a server that is not there."""
        return self.retries * self.wait_seconds

    def backoff(self, failures: int, random: Random) -> float:
        """Return how long to wait after the given number of refusals."""
        return random.uniform(0, min(self.max_wait_seconds, self.wait_seconds * 2 ** min(failures - 1, 30)))

    def reconnect(self, failures: int, random: Random) -> float:
        """Return how long to wait after the given number of lost connections."""
        return random.uniform(0, min(self.max_reconnect_seconds, self.reconnect_seconds * 2 ** min(failures - 1, 30)))
