"""The variables and the search path that steps leave to later ones, and what they may not set."""

import os
from collections.abc import Callable, Mapping
from typing import Final

from ostler.domain.machine import Refused

REFUSED: Final = frozenset({"NODE_OPTIONS", "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES"})
"""What would make every later program load foreign code; a step that wants one says so in its own ``env``."""


class JobEnvironment:
    """``env`` of workflow and job, and all that steps added to it."""

    def __init__(self, values: Mapping[str, str] | None = None, prepended: list[str] | None = None) -> None:
        self.values = dict(values or {})
        self.prepended = list(prepended or [])
        """In the order of their addition: the last is searched first."""
        self.changes: list[Callable[[JobEnvironment], object]] = []

    def set(self, name: str, value: str) -> Refused | None:
        """Set a variable for the steps that come after."""
        if name.upper() in REFUSED:
            return Refused("variable_refused", f"`{name}` cannot be set for later steps; set it in a step's own `env`")
        if not name or "=" in name or "\0" in name + value:
            return Refused("variable_refused", f"`{name}` cannot be the name of a variable")
        self.values[name] = value
        self.changes.append(lambda other: other.set(name, value))
        return None

    def prepend(self, folder: str) -> None:
        """Search a folder before all others."""
        self.prepended = [one for one in self.prepended if one != folder]
        self.prepended.append(folder)
        self.changes.append(lambda other: other.prepend(folder))

    def fork(self) -> "JobEnvironment":
        """Return a copy for a step in the background: what it sets is seen by others once they waited for it."""
        return JobEnvironment(self.values, self.prepended)

    def take(self, fork: "JobEnvironment") -> None:
        """Do what was done to a fork."""
        for change in fork.changes:
            change(self)
        fork.changes.clear()

    def search_path(self, path: str) -> str:
        """Return PATH with what steps added."""
        return os.pathsep.join([*reversed(self.prepended), *([path] if path else [])])
