"""The contexts of expressions: what each holds as far as it is known before a run."""

from typing import Final, Literal, NamedTuple, TypeAlias

Sort: TypeAlias = Literal["text", "number", "flag", "object"]

RESULTS: Final = ("success", "failure", "cancelled", "skipped")
SYSTEMS: Final = ("Linux", "Windows", "macOS")
ARCHITECTURES: Final = ("X86", "X64", "ARM", "ARM64")


class Property(NamedTuple):
    """One property of a context. ``choices`` are all the texts that it can be."""

    doc: str
    sort: Sort = "text"
    choices: tuple[str, ...] = ()


GITHUB: Final[dict[str, Property]] = {
    "action": Property("The action that runs, or the id of the step."),
    "action_path": Property("The folder of the action, in composite actions."),
    "action_ref": Property("The version of the action."),
    "action_repository": Property("The repository of the action."),
    "action_status": Property("How a composite action stands so far.", choices=RESULTS),
    "actor": Property("Who started the run."),
    "actor_id": Property("The number of who started it."),
    "api_url": Property("The address of the API."),
    "base_ref": Property("The branch that a pull request asks to be merged into."),
    "env": Property("The file for variables of later steps."),
    "event": Property("The payload of the event.", "object"),
    "event_name": Property("The event."),
    "event_path": Property("The file with the payload of the event."),
    "graphql_url": Property("The address of the GraphQL API."),
    "head_ref": Property("The branch of a pull request."),
    "job": Property("The id of the job."),
    "output": Property("The file for outputs of the step."),
    "path": Property("The file for folders to search programs in."),
    "ref": Property("The full name of the branch or tag."),
    "ref_name": Property("Its short name."),
    "ref_protected": Property("Whether the branch is protected.", "flag"),
    "ref_type": Property("What was pushed.", choices=("branch", "tag")),
    "repository": Property("Owner and name of the repository."),
    "repository_id": Property("The number of the repository."),
    "repository_owner": Property("The owner of the repository."),
    "repository_owner_id": Property("The number of the owner."),
    "repositoryUrl": Property("The address of the repository."),
    "retention_days": Property("How long logs and artifacts are kept."),
    "run_attempt": Property("Which attempt of the run this is, from 1."),
    "run_id": Property("The number of the run in the whole server."),
    "run_number": Property("The number of the run of this workflow, from 1."),
    "secret_source": Property("Where the secrets come from.", choices=("None", "Actions", "Codespaces", "Dependabot")),
    "server_url": Property("The address of the forge."),
    "sha": Property("The commit."),
    "state": Property("The file for what `main` passes on to `post`."),
    "step_summary": Property("The file for the summary of the step."),
    "token": Property("The token of the job."),
    "triggering_actor": Property("Who started this attempt."),
    "workflow": Property("The name of the workflow."),
    "workflow_ref": Property("Path and version of the workflow file."),
    "workflow_sha": Property("The commit of the workflow file."),
    "workspace": Property("The folder of the checkout."),
}
RUNNER: Final[dict[str, Property]] = {
    "arch": Property("Its processor.", choices=ARCHITECTURES),
    "debug": Property("`1` where debugging is on."),
    "environment": Property("Who keeps it.", choices=("github-hosted", "self-hosted")),
    "name": Property("Its name."),
    "os": Property("Its system.", choices=SYSTEMS),
    "temp": Property("A folder that is emptied for each job."),
    "tool_cache": Property("The folder of installed tools."),
    "workspace": Property("The same folder as `github.workspace`; on GitHub the one above it."),
}
JOB: Final[dict[str, Property]] = {
    "check_run_id": Property("The number of the check of this job."),
    "container": Property("The `id` and `network` of its container.", "object"),
    "services": Property("For each service `id`, `network` and `ports`.", "object"),
    "status": Property("How it stands so far.", choices=("success", "failure", "cancelled")),
    "workflow_file_path": Property("The path of the file that holds the job."),
    "workflow_ref": Property("Path and version of the file that holds the job."),
    "workflow_repository": Property("The repository of the file that holds the job."),
    "workflow_sha": Property("The commit of the file that holds the job."),
}
STRATEGY: Final[dict[str, Property]] = {
    "fail-fast": Property("Whether one failure cancels the others.", "flag"),
    "job-index": Property("Which job of the matrix this is, from 0.", "number"),
    "job-total": Property("How many jobs the matrix makes.", "number"),
    "max-parallel": Property("How many of them run at a time.", "number"),
}
STEP: Final[dict[str, Property]] = {
    "conclusion": Property("How it ended, after `continue-on-error`.", choices=RESULTS),
    "outcome": Property("How it ended, before `continue-on-error`.", choices=RESULTS),
    "outputs": Property("What it wrote to GITHUB_OUTPUT.", "object"),
}
NEED: Final[dict[str, Property]] = {
    "outputs": Property("The `outputs` of the job.", "object"),
    "result": Property("How it ended.", choices=RESULTS),
}

CONTEXTS: Final[dict[str, tuple[str, dict[str, Property]]]] = {
    "github": ("The run, its event and its repository.", GITHUB),
    "env": ("The variables of workflow, job and step so far, by name.", {}),
    "vars": ("The variables that are kept on the server, by name.", {}),
    "job": ("The job that runs.", JOB),
    "jobs": ("In outputs of a reusable workflow: all its jobs, by id.", NEED),
    "steps": ("The steps before this one that have an id, by it.", STEP),
    "runner": ("The machine.", RUNNER),
    "secrets": ("Secrets, by name.", {}),
    "strategy": ("How the jobs of the matrix are run.", STRATEGY),
    "matrix": ("The values of this job of the matrix, by key.", {}),
    "needs": ("The jobs that this job needs, by id.", NEED),
    "inputs": ("What was given to the workflow or the action, by name.", {}),
}
"""Each context with what it is, and the properties that it or each of its entries has."""
