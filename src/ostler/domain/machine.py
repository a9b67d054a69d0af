"""What every state machine of the domain shares: a literal table and the two possible answers.

The table is data so that the documentation's diagrams, the property tests and the running program read the same
thing. A transition that is not in the table is an expected outcome, not an error: it is answered with ``Refused``.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)


class Refused(NamedTuple):
    """An expected "no": a stable code for programs and a reason for people."""

    code: str
    reason: str


class Machine(Generic[S, E]):
    """A noun's states, events and transitions."""

    def __init__(self, noun: str, initial: S, terminal: frozenset[S], table: Mapping[tuple[S, E], S]) -> None:
        self.noun = noun
        self.initial = initial
        self.terminal = terminal
        self.table = table

    def after(self, state: S, event: E) -> S | Refused:
        """Return the state that follows, or why there is none."""
        following = self.table.get((state, event))
        if following is not None:
            return following
        if state in self.terminal:
            return Refused(f"{self.noun}_ended", f"the {self.noun} has already ended as {state.value}")
        return Refused(f"{self.noun}_not_{event.value}", f"the {self.noun} is {state.value} and cannot {event.value}")
