"""What a built-in action is told beyond its inputs: where this machine keeps things, and who keeps the rest.

It travels as one variable that no other step gets, because it holds the job's token.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

VARIABLE = "OSTLER_ACTION_SERVICES"


class Services(NamedTuple):
    """Each may be missing."""

    cache: str = ""
    """The folder in which repositories are kept for later jobs."""
    source: str = ""
    """The working tree that checkout copies, in local runs."""
    store: str = ""
    """The folder of artifacts and caches, in local runs."""
    server: str = ""
    """The server that keeps artifacts and caches otherwise."""
    token: str = ""
    """What the job shows to that server."""
    clone_url: str = ""
    """Where checkout fetches the workflow's own repository from."""
    reach: Mapping[str, str] = MappingProxyType({})
    """Variables by which the runner reaches others, for what the job's own environment does not say."""

    def environment(self) -> dict[str, str]:
        """Return what the program's environment needs besides its inputs."""
        told = {**self._asdict(), "reach": dict(self.reach)}
        return {VARIABLE: json.dumps({name: value for name, value in told.items() if value})}


def from_environment(environment: Mapping[str, str]) -> Services:
    """Return what the program was told; nothing if it was started by hand."""
    told: dict[str, Any] = json.loads(environment.get(VARIABLE) or "{}")
    return Services(**{name: value for name, value in told.items() if name in Services._fields})
