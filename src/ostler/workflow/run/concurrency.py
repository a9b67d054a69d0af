"""Concurrency groups: of all who hold or want a group, who has it, who waits and who gives way.

Whoever keeps the groups, a database or a process, keeps for each of them its holder and those who wait, in the order in
which they came; names of groups are compared by ``group_key``. These functions only decide.
"""

from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from ostler.workflow.run.effects import Queue

H = TypeVar("H")

LONGEST_QUEUE: Final = 100
"""How many may wait where the queue is ``max``."""
LONGEST_NAME: Final = 400

REPLACED: Final = "a newer one wants the same concurrency group"
FULL: Final = f"{LONGEST_QUEUE} wait for the concurrency group already"


class Decision(NamedTuple, Generic[H]):
    """What a newcomer changes."""

    granted: bool
    """Whether the newcomer has the group at once; if not, and it is not denied, it waits as the last one."""
    denied: tuple[H, ...] = ()
    """Who waits no longer: replaced ones, or the newcomer."""
    cancelled: tuple[H, ...] = ()
    """The holder, if it is to be cancelled. It holds the group until it has ended."""


def group_key(name: str) -> str:
    """Return what two names of groups have in common if they mean one group."""
    return name.upper()


def join(holder: H | None, waiting: Sequence[H], newcomer: H, *, cancel_in_progress: bool, queue: Queue) -> Decision[H]:
    """Decide what happens when one more wants a group; one that is in it already changes nothing."""
    if newcomer == holder:
        return Decision(granted=True)
    if newcomer in waiting:
        return Decision(granted=False)
    if holder is None and not waiting:
        return Decision(granted=True)
    cancelled = (holder,) if cancel_in_progress and holder is not None else ()
    if queue == "single":
        return Decision(granted=holder is None, denied=tuple(waiting), cancelled=cancelled)
    if len(waiting) >= LONGEST_QUEUE:
        return Decision(granted=False, denied=(newcomer,))
    return Decision(granted=False, cancelled=cancelled)


def leave(waiting: Sequence[H]) -> H | None:
    """Return who has the group next when its holder has left: the one that waits longest."""
    return waiting[0] if waiting else None
