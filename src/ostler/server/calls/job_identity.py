"""What a job's token is for."""

from ostler.protocol.endpoint import Nothing
from ostler.protocol.v1.job_messages import JobIdentity
from ostler.protocol.v1.job_table import JOB_IDENTITY
from ostler.server.call import Call, Handlers


def handlers() -> Handlers:
    """The rows served here."""
    return {JOB_IDENTITY: identity}


async def identity(call: Call[Nothing]) -> JobIdentity:
    """Say whom the caller is taken for."""
    scope = call.job
    return JobIdentity(
        scope.job_id, scope.fence, scope.run_id, scope.first_run_id, bool(scope.target_id), scope.trusted
    )
