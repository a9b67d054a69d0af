"""The environment of a program that a step starts: every layer of it, in the order in which later ones win.

From below: the runner's own, HOME and the like; ``env`` of workflow, job, GITHUB_ENV and step; what the program itself
is given (inputs, state); the documented default variables, which nobody can overwrite but for ``CI``.
"""

from collections.abc import Mapping
from typing import Final

from ostler.actions.engine.environment import JobEnvironment
from ostler.actions.engine.file_commands import Files
from ostler.actions.engine.scope import JobState
from ostler.expr.values import Value, as_text

SEARCH_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_GITHUB: Final = (
    "action",
    "action_path",
    "action_ref",
    "action_repository",
    "actor",
    "actor_id",
    "api_url",
    "base_ref",
    "event_name",
    "event_path",
    "graphql_url",
    "head_ref",
    "job",
    "ref",
    "ref_name",
    "ref_protected",
    "ref_type",
    "repository",
    "repository_id",
    "repository_owner",
    "repository_owner_id",
    "retention_days",
    "run_attempt",
    "run_id",
    "run_number",
    "server_url",
    "sha",
    "triggering_actor",
    "workflow",
    "workflow_ref",
    "workflow_sha",
    "workspace",
)
_ALWAYS: Final = {"GITHUB_ACTIONS": "true", "OSTLER": "true"}


def process_environment(
    job: JobState,
    track: JobEnvironment,
    env: Mapping[str, str],
    github: Mapping[str, Value],
    files: Files,
    given: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the whole environment of a program."""
    layout = job.machine.layout
    environment = {
        "PATH": SEARCH_PATH,
        "HOME": layout.home,
        "TMPDIR": layout.temp,
        "CI": "true",
        "LANG": "C.UTF-8",
        **job.base,
        **env,
        **(given or {}),
        **default_variables(job, {**job.github, **github}),
        **files.variables(),
    }
    environment["PATH"] = track.search_path(environment["PATH"])
    return {name: value for name, value in environment.items() if name and "=" not in name and "\0" not in name + value}


def default_variables(job: JobState, github: Mapping[str, Value]) -> dict[str, str]:
    """Return the documented variables; what the run does not have is left out."""
    found = dict(_ALWAYS)
    for name in _GITHUB:
        value = github.get(name)
        if value is not None:
            found[f"GITHUB_{name.upper()}"] = as_text(value)
    for name, value in job.runner.items():
        found[f"RUNNER_{name.upper()}"] = as_text(value)
    return found


def service_variables(job: JobState) -> dict[str, str]:
    """Return what only actions get, for the services of the server."""
    server, token = job.services.server.rstrip("/"), job.services.token
    if not server or not token:
        return {}
    return {
        "ACTIONS_RUNTIME_URL": f"{server}/",
        "ACTIONS_RUNTIME_TOKEN": token,
        "ACTIONS_RESULTS_URL": f"{server}/",
        "ACTIONS_CACHE_URL": f"{server}/",
    }
