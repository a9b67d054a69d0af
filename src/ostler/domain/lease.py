"""The lease: a runner's hold on an attempt, good until its expiry unless a heartbeat renews it.

Time is compared here, in one place: the store asks ``expired`` and the sweep applies what it answers. How long a
started job may stay silent before it is given up differs by kind (rule 8).
"""

from enum import StrEnum
from typing import Final

from ostler.domain.job import JobKind
from ostler.domain.machine import Machine


class LeaseState(StrEnum):
    """Where a lease stands."""

    HELD = "held"
    GRANTED = "granted"
    LAPSED = "lapsed"
    CLOSED = "closed"


class LeaseEvent(StrEnum):
    """What can happen to a lease."""

    RENEW = "renew"
    GRANT = "grant"
    LAPSE = "lapse"
    CLOSE = "close"


_S, _E = LeaseState, LeaseEvent

LEASE_MACHINE = Machine(
    "lease",
    _S.HELD,
    frozenset({_S.LAPSED, _S.CLOSED}),
    {
        (_S.HELD, _E.RENEW): _S.HELD,
        (_S.HELD, _E.GRANT): _S.GRANTED,
        (_S.HELD, _E.LAPSE): _S.LAPSED,
        (_S.HELD, _E.CLOSE): _S.CLOSED,
        (_S.GRANTED, _E.RENEW): _S.GRANTED,
        (_S.GRANTED, _E.GRANT): _S.GRANTED,
        (_S.GRANTED, _E.LAPSE): _S.LAPSED,
        (_S.GRANTED, _E.CLOSE): _S.CLOSED,
    },
)

SECOND: Final = 1_000_000

CLAIM_SECONDS: Final = 45
"""A claim that is neither started nor renewed goes back to the queue after this long: a dead runner's job is running
elsewhere within a minute."""

SILENCE_SECONDS: Final = 600
"""A started deployment or CI job is given up after this long without a heartbeat (rule 8)."""

HEARTBEAT_SECONDS: Final = 10
"""How often a runner renews; several may be lost before a lease lapses."""


def expiry(kind: JobKind, *, started: bool, now: int) -> int:
    """Return when a lease renewed at ``now`` lapses, in microseconds."""
    seconds = SILENCE_SECONDS if started and not kind.redeliverable else CLAIM_SECONDS
    return now + seconds * SECOND


def expired(expires_at: int, now: int) -> bool:
    """Return whether a lease has lapsed; the instant of expiry still belongs to the holder."""
    return now > expires_at
