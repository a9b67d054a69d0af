"""The messages between a job that is under way and the server: what its token is for, artifacts, caches, actions."""

import msgspec

from ostler.protocol.v1.spec import Count


class JobIdentity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whom the server takes the caller for."""

    job_id: str
    fence: Count
    run_id: str
    first_run_id: str
    """What all attempts of one workflow run have in common; their artifacts are seen together."""
    repository: bool = False
    """Whether the run belongs to a repository, without which there are no caches."""
    trusted: bool = True
