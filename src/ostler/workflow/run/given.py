"""What is given with the event that a run answers: what expressions can see before any job has run."""

import msgspec

from ostler.protocol.v1.program import Raw


class Given(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All that a plan needs beside the workflow. Values of secrets are not among it, only their names."""

    github: dict[str, Raw]
    """The ``github`` context without ``job``, ``token`` and what only a runner knows; see ``github_context``."""
    inputs: dict[str, Raw] = {}
    """Inputs of ``workflow_dispatch`` with their types; see ``dispatch_inputs``."""
    vars: dict[str, str] = {}
    secrets: tuple[str, ...] = ()
    """Names of the secrets that the run may have: of a run that is not trusted there are none."""
    timeout_minutes: float = 360.0
    """How long a job may run that does not say so itself."""
    cancel_timeout_minutes: float = 5.0
    """How long a cancelled job may take to end."""
    debug: bool = False
    trusted: bool = True
    """False for what comes from a fork."""
    approved: bool = True
    """False if somebody must approve the run before anything of it starts."""
    clone_url: str = ""
    """Where checkout fetches from."""
    actions: dict[str, str] = {}
    """Pinned actions and their digests."""
    real_actions: list[str] = []
    """Actions that are to be fetched although there is a built-in version."""
