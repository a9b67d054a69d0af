"""The calls about workflows and their runs. The whole table is ``ostler.protocol.v1.table.ENDPOINTS``."""

from ostler.protocol.endpoint import MIB, Auth, Binary, Endpoint, Nothing
from ostler.protocol.v1 import repository_messages as repositories, run_messages as runs, workflow_messages as workflows

SYNC_REPOSITORY = Endpoint(
    name="sync_repository",
    method="POST",
    path="/api/v1/repositories/{repository}/sync",
    summary="Read the workflows of the default branch again",
    request=Nothing,
    reply=workflows.WorkflowsReply,
    auth=Auth.OPERATOR,
    problems=("not_found", "value_refused", "repository_unreadable"),
)
LIST_WORKFLOWS = Endpoint(
    name="list_workflows",
    method="GET",
    path="/api/v1/repositories/{repository}/workflows",
    summary="List the workflows of a repository",
    request=Nothing,
    reply=workflows.WorkflowsReply,
    problems=("not_found",),
)
GET_WORKFLOW = Endpoint(
    name="get_workflow",
    method="GET",
    path="/api/v1/repositories/{repository}/workflows/{workflow}",
    summary="Read a workflow by its id, file name or name",
    request=Nothing,
    reply=workflows.WorkflowView,
    problems=("not_found",),
)
UPDATE_WORKFLOW = Endpoint(
    name="update_workflow",
    method="PATCH",
    path="/api/v1/repositories/{repository}/workflows/{workflow}",
    summary="Stop a workflow from running, or let it run again",
    request=workflows.UpdateWorkflowRequest,
    reply=workflows.WorkflowView,
    auth=Auth.OPERATOR,
    problems=("not_found",),
)
DISPATCH_WORKFLOW = Endpoint(
    name="dispatch_workflow",
    method="POST",
    path="/api/v1/repositories/{repository}/workflows/{workflow}/dispatches",
    summary="Run a workflow by hand",
    request=workflows.DispatchRequest,
    reply=workflows.DispatchReply,
    status=201,
    retryable=False,
    problems=("not_found", "value_refused", "repository_unreadable", "workflow_refused"),
)
DISPATCH_REPOSITORY = Endpoint(
    name="dispatch_repository",
    method="POST",
    path="/api/v1/repositories/{repository}/dispatches",
    summary="Tell a repository of an event of your own (repository_dispatch)",
    request=workflows.RepositoryDispatchRequest,
    reply=workflows.DispatchReply,
    status=201,
    retryable=False,
    problems=("not_found", "value_refused", "repository_unreadable", "workflow_refused"),
)
LIST_TRIGGERS = Endpoint(
    name="list_triggers",
    method="GET",
    path="/api/v1/repositories/{repository}/events",
    summary="List what happened last to a repository, and what became of it",
    request=Nothing,
    reply=repositories.TriggersReply,
    problems=("not_found",),
)
WEBHOOK = Endpoint(
    name="webhook",
    method="POST",
    path="/api/v1/repositories/{repository}/webhook",
    summary="Take a signed delivery of a forge or of a post-receive hook",
    request=Binary,
    reply=repositories.DeliveryReply,
    auth=Auth.NONE,
    body_limit=25 * MIB,
    problems=("not_found", "delivery_refused", "delivery_malformed"),
)
GET_WORKFLOW_RUN = Endpoint(
    name="get_workflow_run",
    method="GET",
    path="/api/v1/runs/{run_id}/workflow",
    summary="Read what a run is as a run of a workflow: its event, its nodes, its attempts",
    request=Nothing,
    reply=workflows.WorkflowRunView,
    problems=("not_found",),
)
APPROVE_RUN = Endpoint(
    name="approve_run",
    method="POST",
    path="/api/v1/runs/{run_id}/approve",
    summary="Let the run of a fork begin; it gets no secrets all the same",
    request=Nothing,
    reply=workflows.WorkflowRunView,
    auth=Auth.OPERATOR,
    problems=("not_found", "transition_refused"),
)
RERUN_RUN = Endpoint(
    name="rerun_run",
    method="POST",
    path="/api/v1/runs/{run_id}/rerun",
    summary="Run a workflow's run again as its next attempt: all of it, what failed, or from one job on",
    request=workflows.RerunRequest,
    reply=runs.RunView,
    status=201,
    retryable=False,
    problems=("not_found", "transition_refused", "value_refused"),
)
REPRO_JOB = Endpoint(
    name="repro_job",
    method="GET",
    path="/api/v1/jobs/{job_id}/repro",
    summary="Read what it takes to run a job of a workflow elsewhere as it was run here",
    request=Nothing,
    reply=workflows.ReproReply,
    problems=("not_found",),
)
