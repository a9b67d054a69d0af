"""A thin face on the same use cases, for simple runner clients that know only these addresses.

The messages are those of the other calls; only the addresses, and the runner's id in them, are their own. The whole
table, these rows included, is ``ostler.protocol.v1.table.ENDPOINTS``.
"""

from ostler.protocol.endpoint import Auth, Endpoint, Nothing
from ostler.protocol.problem import FENCED, LABELS
from ostler.protocol.v1 import fleet_messages as fleet, runner_messages as runner

SIMPLE_LIST_RUNNERS = Endpoint(
    name="simple_list_runners",
    method="GET",
    path="/runners",
    summary="List runners",
    request=Nothing,
    reply=fleet.RunnersReply,
    query=fleet.RunnersQuery,
)
SIMPLE_CREATE_RUNNER = Endpoint(
    name="simple_create_runner",
    method="POST",
    path="/runners",
    summary="Create a registration token for one more runner",
    request=fleet.CreateTokenRequest,
    reply=fleet.CreateTokenReply,
    auth=Auth.OPERATOR,
    status=201,
    retryable=False,
    problems=("not_found", "value_refused"),
)
SIMPLE_REGISTER = Endpoint(
    name="simple_register_runner",
    method="POST",
    path="/runners/register",
    summary="Register a new runner with a registration token",
    request=runner.EnrolRequest,
    reply=runner.EnrolReply,
    auth=Auth.NONE,
    status=201,
    problems=("registration_refused", "runner_name_taken", "single_process", "value_refused", *LABELS),
)
SIMPLE_STATUS = Endpoint(
    name="simple_runner_status",
    method="POST",
    path="/runners/{runner_id}/status",
    summary="Report the runner's own state",
    request=fleet.StatusRequest,
    reply=Nothing,
    auth=Auth.RUNNER,
    status=204,
    problems=("forbidden", "not_found"),
)
SIMPLE_HEARTBEAT = Endpoint(
    name="simple_runner_heartbeat",
    method="POST",
    path="/runners/{runner_id}/heartbeat",
    summary="Renew all leases",
    request=runner.HeartbeatRequest,
    reply=runner.HeartbeatReply,
    auth=Auth.RUNNER,
    problems=("forbidden", "not_found"),
)
SIMPLE_ASSIGN_JOB = Endpoint(
    name="simple_assign_job",
    method="POST",
    path="/runners/{runner_id}/assign-job",
    summary="Claim a given waiting job on behalf of a runner",
    request=fleet.AssignJobRequest,
    reply=runner.ClaimReply,
    auth=Auth.OPERATOR,
    retryable=False,
    problems=("not_found", "transition_refused"),
)
SIMPLE_COMPLETE_JOB = Endpoint(
    name="simple_complete_job",
    method="POST",
    path="/runners/{runner_id}/complete-job",
    summary="Report the result of an attempt",
    request=runner.FinishRequest,
    reply=runner.FinishReply,
    auth=Auth.RUNNER,
    problems=(*FENCED, "forbidden", "log_incomplete", "job_not_granted", "transition_refused"),
)
