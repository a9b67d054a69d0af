"""What an agent is made of: its settings in the units it works with, and its doors to the outside.

``configuration`` derives the settings from what people write; ``wiring`` opens the doors of a real machine, the
simulator opens its own.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ostler.agent.capabilities import Tools
from ostler.agent.disk import Disk
from ostler.agent.logging import Log
from ostler.agent.machine import Machine
from ostler.agent.polling import PollRules
from ostler.agent.supervision import ActionServices, Network, Supervisors
from ostler.client.policy import Policy
from ostler.client.transport import Transport
from ostler.domain.job import JobKind
from ostler.effects import Effects


class AgentSettings(NamedTuple):
    """What one runner is told; ``configuration`` derives it from the table of settings."""

    name: str
    service_url: str
    token: Callable[[], str]
    """Reads the registration token (or OIDC token) anew each time, as both may be rotated in place."""
    description: str = ""
    labels: tuple[str, ...] = ()
    job_kinds: tuple[JobKind, ...] = tuple(JobKind)
    isolation: str = "process"
    job_network: Network = "full"
    environment: Mapping[str, str] = {}
    """What every job gets: allowed host variables and explicit pairs."""
    services: ActionServices = ActionServices()
    """What actions of workflows find on this machine."""
    policy: Policy = Policy()
    breaker_failures: int = 2
    breaker_seconds: float = 600.0
    poll: PollRules = PollRules()
    status_seconds: float = 30.0
    minimum_free_bytes: int = 0
    single_run: bool = False


class AgentParts(NamedTuple):
    """Everything an agent touches."""

    settings: AgentSettings
    effects: Effects
    transport: Transport
    disk: Disk
    supervisors: Supervisors
    machine: Machine
    tools: Tools
    log: Log
