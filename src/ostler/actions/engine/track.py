"""A *track*: one step of the list that people see, with everything that runs for it, one after the other.

Steps of composite actions belong to the track of the step that uses them. A step in the background has its own
variables until somebody waits for it.
"""

from collections.abc import Callable

from ostler.actions.engine.calls import Post
from ostler.actions.engine.environment import JobEnvironment
from ostler.actions.engine.machine import Leash
from ostler.actions.engine.remarks import Remarks


class Owner:
    """A step of the list with what its actions want to be run after all others."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.posts: list[Post] = []


class Track:
    """One line of steps, and the step of the list that people see which they belong to."""

    def __init__(
        self, number: int, environment: JobEnvironment, owner: Owner | None = None, *, background: bool = False
    ) -> None:
        self.number = number
        self.environment = environment
        self.owner = owner
        self.background = background
        self.leash = Leash(number)
        self.remarks = Remarks()
        self.conditions: list[Callable[[], bool]] = []
        """Those of the steps that run now, outermost first: asked again when the job is cancelled."""
