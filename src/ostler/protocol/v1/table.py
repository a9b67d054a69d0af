"""Every endpoint of the control plane, once. See ``ostler.protocol`` for what is derived from it."""

from collections.abc import Mapping
from typing import Any, cast

from ostler.protocol.endpoint import MIB, Auth, Binary, Endpoint, Nothing
from ostler.protocol.problem import FENCED, LABELS
from ostler.protocol.v1 import fleet_messages as fleet, run_messages as runs, runner_messages as runner
from ostler.protocol.v1.noun_tables import NOUN_TABLES

# The agent protocol.

ENROL = Endpoint(
    name="enrol",
    method="POST",
    path="/agent/v1/enrolments",
    summary="Register a new runner with a registration token",
    request=runner.EnrolRequest,
    reply=runner.EnrolReply,
    auth=Auth.NONE,
    status=201,
    problems=("registration_refused", "runner_name_taken", "single_process", "value_refused", *LABELS),
)
ACCESS_TOKEN = Endpoint(
    name="access_token",
    method="POST",
    path="/agent/v1/tokens",
    summary="Exchange a signed assertion for a short-lived access token",
    request=runner.TokenRequest,
    reply=runner.TokenReply,
    auth=Auth.NONE,
    retryable=False,
    problems=("assertion_refused", "runner_revoked"),
)
HELLO = Endpoint(
    name="hello",
    method="POST",
    path="/agent/v1/hello",
    summary="Connect: exchange versions, capabilities and what the runner still holds",
    request=runner.HelloRequest,
    reply=runner.HelloReply,
    auth=Auth.RUNNER,
    problems=("version_unsupported", "not_found", "single_process"),
)
CLAIM = Endpoint(
    name="claim",
    method="POST",
    path="/agent/v1/claims",
    summary="Wait for work and directives",
    request=runner.ClaimRequest,
    reply=runner.ClaimReply,
    auth=Auth.RUNNER,
    held=True,
    problems=("not_found",),
)
START = Endpoint(
    name="start",
    method="POST",
    path="/agent/v1/starts",
    summary="Ask for the grant to execute a claimed job",
    request=runner.StartRequest,
    reply=runner.StartReply,
    auth=Auth.RUNNER,
    problems=(*FENCED, "job_started", "transition_refused"),
)
RELEASE = Endpoint(
    name="release",
    method="POST",
    path="/agent/v1/releases",
    summary="Give a claim back before its start",
    request=runner.ReleaseRequest,
    reply=Nothing,
    auth=Auth.RUNNER,
    status=204,
    problems=(*FENCED, "job_started", "transition_refused"),
)
HEARTBEAT = Endpoint(
    name="heartbeat",
    method="POST",
    path="/agent/v1/heartbeats",
    summary="Renew all leases and report how the machine is doing",
    request=runner.HeartbeatRequest,
    reply=runner.HeartbeatReply,
    auth=Auth.RUNNER,
    problems=("not_found",),
)
EVENTS = Endpoint(
    name="events",
    method="POST",
    path="/agent/v1/events",
    summary="Report what became of steps",
    request=runner.EventsRequest,
    reply=runner.EventsReply,
    auth=Auth.RUNNER,
    body_limit=8 * MIB,
    problems=FENCED,
)
APPEND_LOG = Endpoint(
    name="append_log",
    method="POST",
    path="/agent/v1/jobs/{job_id}/log",
    summary="Append log frames at an offset",
    request=Binary,
    reply=runner.LogReply,
    query=runner.LogQuery,
    auth=Auth.RUNNER,
    body_limit=4 * MIB,
    problems=(*FENCED, "log_offset", "frame_damaged"),
)
FINISH = Endpoint(
    name="finish",
    method="POST",
    path="/agent/v1/finishes",
    summary="Report the result of an attempt, and poll for the next job in the same call",
    request=runner.FinishRequest,
    reply=runner.FinishReply,
    auth=Auth.RUNNER,
    body_limit=8 * MIB,
    problems=(*FENCED, "log_incomplete", "job_not_granted", "transition_refused"),
)
BYE = Endpoint(
    name="bye",
    method="POST",
    path="/agent/v1/bye",
    summary="Leave on purpose",
    request=runner.ByeRequest,
    reply=Nothing,
    auth=Auth.RUNNER,
    status=204,
    problems=("not_found",),
)

# The API for people's clients.

SUBMIT = Endpoint(
    name="submit_run",
    method="POST",
    path="/api/v1/runs",
    summary="Submit a run",
    request=runs.SubmitRequest,
    reply=runs.RunView,
    status=201,
    problems=("not_found", "value_refused", "idempotency_mismatch", *LABELS),
)
SUBMIT_MANY = Endpoint(
    name="submit_runs",
    method="POST",
    path="/api/v1/runs/batch",
    summary="Submit many runs in one transaction",
    request=runs.SubmitManyRequest,
    reply=runs.SubmitManyReply,
    status=201,
    retryable=False,
    body_limit=32 * MIB,
    problems=("not_found", "value_refused", "idempotency_mismatch", *LABELS),
)
LIST_RUNS = Endpoint(
    name="list_runs",
    method="GET",
    path="/api/v1/runs",
    summary="List runs, newest first",
    request=Nothing,
    reply=runs.RunsReply,
    query=runs.RunsQuery,
)
GET_RUN = Endpoint(
    name="get_run",
    method="GET",
    path="/api/v1/runs/{run_id}",
    summary="Read a run with its jobs, steps and attempts",
    request=Nothing,
    reply=runs.RunView,
    problems=("not_found",),
)
CANCEL_RUN = Endpoint(
    name="cancel_run",
    method="POST",
    path="/api/v1/runs/{run_id}/cancel",
    summary="Cancel a run; a second cancel changes nothing",
    request=runs.CancelRequest,
    reply=runs.RunView,
    problems=("not_found",),
)
GET_JOB = Endpoint(
    name="get_job",
    method="GET",
    path="/api/v1/jobs/{job_id}",
    summary="Read a job; a waiting one says why it waits",
    request=Nothing,
    reply=runs.JobView,
    problems=("not_found",),
)
LOG_LINES = Endpoint(
    name="log_lines",
    method="GET",
    path="/api/v1/jobs/{job_id}/log",
    summary="Read a range of log lines",
    request=Nothing,
    reply=runs.LogLinesReply,
    query=runs.LogLinesQuery,
    problems=("not_found",),
)
LOG_FOLLOW = Endpoint(
    name="log_follow",
    method="GET",
    path="/api/v1/jobs/{job_id}/log/follow",
    summary="Follow a log as server-sent events; resumes by Last-Event-ID",
    request=Nothing,
    reply=Nothing,
    query=runs.LogFollowQuery,
    stream="text/event-stream",
    problems=("not_found",),
)
LOG_SEARCH = Endpoint(
    name="log_search",
    method="GET",
    path="/api/v1/jobs/{job_id}/log/search",
    summary="Search a log; hits stream as they are found",
    request=Nothing,
    reply=Nothing,
    query=runs.LogSearchQuery,
    stream="application/x-ndjson",
    problems=("not_found",),
)
LOG_RAW = Endpoint(
    name="log_raw",
    method="GET",
    path="/api/v1/jobs/{job_id}/log/raw",
    summary="Download a log as text",
    request=Nothing,
    reply=Nothing,
    query=runs.LogRawQuery,
    stream="text/plain; charset=utf-8",
    problems=("not_found",),
)
QUEUE = Endpoint(
    name="queue",
    method="GET",
    path="/api/v1/queue",
    summary="List waiting jobs in the order of service, each with its reason",
    request=Nothing,
    reply=runs.QueueReply,
    query=runs.QueueQuery,
    problems=("not_found",),
)
LIST_POOLS = Endpoint(
    name="list_pools",
    method="GET",
    path="/api/v1/pools",
    summary="List pools, the hosted one first",
    request=Nothing,
    reply=fleet.PoolsReply,
)
CREATE_POOL = Endpoint(
    name="create_pool",
    method="POST",
    path="/api/v1/pools",
    summary="Create a pool",
    request=fleet.CreatePoolRequest,
    reply=fleet.PoolView,
    auth=Auth.OPERATOR,
    status=201,
    retryable=False,
    problems=("name_taken", "name_length", "name_characters", *LABELS),
)
GET_POOL = Endpoint(
    name="get_pool",
    method="GET",
    path="/api/v1/pools/{pool}",
    summary="Read a pool by its id or name",
    request=Nothing,
    reply=fleet.PoolView,
    problems=("not_found",),
)
UPDATE_POOL = Endpoint(
    name="update_pool",
    method="PATCH",
    path="/api/v1/pools/{pool}",
    summary="Change a pool",
    request=fleet.UpdatePoolRequest,
    reply=fleet.PoolView,
    auth=Auth.OPERATOR,
    problems=("not_found", *LABELS),
)
DELETE_POOL = Endpoint(
    name="delete_pool",
    method="DELETE",
    path="/api/v1/pools/{pool}",
    summary="Delete a pool that has no waiting or running jobs",
    request=Nothing,
    reply=Nothing,
    auth=Auth.OPERATOR,
    status=204,
    problems=("not_found", "pool_hosted", "pool_in_use"),
)
LIST_RUNNERS = Endpoint(
    name="list_runners",
    method="GET",
    path="/api/v1/runners",
    summary="List runners",
    request=Nothing,
    reply=fleet.RunnersReply,
    query=fleet.RunnersQuery,
)
GET_RUNNER = Endpoint(
    name="get_runner",
    method="GET",
    path="/api/v1/runners/{runner}",
    summary="Read a runner by its id or name",
    request=Nothing,
    reply=fleet.RunnerView,
    problems=("not_found",),
)
ADMIT_RUNNER = Endpoint(
    name="admit_runner",
    method="POST",
    path="/api/v1/runners/{runner}/admission",
    summary="Pause, resume, drain, disable, enable, quarantine or revoke a runner",
    request=fleet.AdmissionRequest,
    reply=fleet.RunnerView,
    auth=Auth.OPERATOR,
    problems=("not_found", "transition_refused"),
)
CREATE_TOKEN = Endpoint(
    name="create_token",
    method="POST",
    path="/api/v1/tokens",
    summary="Create a registration or API token; its secret is shown once",
    request=fleet.CreateTokenRequest,
    reply=fleet.CreateTokenReply,
    auth=Auth.OPERATOR,
    status=201,
    retryable=False,
    problems=("not_found", "value_refused"),
)
LIST_TOKENS = Endpoint(
    name="list_tokens",
    method="GET",
    path="/api/v1/tokens",
    summary="List tokens without their secrets",
    request=Nothing,
    reply=fleet.TokensReply,
    auth=Auth.OPERATOR,
)
REVOKE_TOKEN = Endpoint(
    name="revoke_token",
    method="DELETE",
    path="/api/v1/tokens/{token_id}",
    summary="Revoke a token",
    request=Nothing,
    reply=Nothing,
    auth=Auth.OPERATOR,
    status=204,
    problems=("not_found",),
)
LOGIN = Endpoint(
    name="login",
    method="POST",
    path="/api/v1/login",
    summary="Exchange a one-time sign-in code for an API token",
    request=fleet.LoginRequest,
    reply=fleet.CreateTokenReply,
    auth=Auth.NONE,
    status=201,
    retryable=False,
    problems=("unauthenticated",),
)
WHO_AM_I = Endpoint(
    name="who_am_i",
    method="GET",
    path="/api/v1/me",
    summary="Read who the caller is",
    request=Nothing,
    reply=fleet.Identity,
)


def _rows(*namespaces: Mapping[str, object]) -> tuple[Endpoint[Any, Any], ...]:
    values = [value for namespace in namespaces for value in namespace.values()]
    found = [cast("Endpoint[Any, Any]", value) for value in values if isinstance(value, Endpoint)]
    return tuple(sorted(found, key=lambda row: (row.path, row.method)))


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = _rows(globals(), *map(vars, NOUN_TABLES))
"""The table itself, in the order of the paths."""
