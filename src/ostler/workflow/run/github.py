"""The ``github`` context, from the facts of an event."""

from collections.abc import Mapping
from typing import Final, cast

import msgspec

from ostler.protocol.v1.program import Raw

_HEADS: Final = "refs/heads/"
_TAGS: Final = "refs/tags/"
_PULLS: Final = "refs/pull/"


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an event and of the run that answers it."""

    event_name: str
    event: dict[str, Raw] = {}
    """What the forge sent, or what stands for it."""
    repository: str
    """``owner/name``."""
    ref: str
    """In full: ``refs/heads/main``."""
    sha: str
    actor: str
    workflow: str
    """The name of the workflow; its path where it has none."""
    path: str
    """The workflow's file within the repository."""
    run_id: str
    run_number: int
    run_attempt: int = 1
    base_ref: str = ""
    """Of a pull request: the branch that it goes to, without ``refs/heads/``."""
    head_ref: str = ""
    triggering_actor: str = ""
    """Who started this attempt; the actor where it is missing."""
    actor_id: str = ""
    repository_id: str = ""
    repository_owner_id: str = ""
    server_url: str = "https://github.com"
    api_url: str = ""
    graphql_url: str = ""
    ref_protected: bool = False
    retention_days: int = 90
    secret_source: str = "Actions"


def github_context(facts: Facts) -> dict[str, Raw]:
    """Return all of the documented context that does not depend on the job or on its runner."""
    server = facts.server_url.rstrip("/")
    owner = facts.repository.partition("/")[0]
    return {
        "event_name": facts.event_name,
        "event": facts.event,
        "ref": facts.ref,
        "ref_name": ref_name(facts.ref),
        "ref_type": "tag" if facts.ref.startswith(_TAGS) else "branch",
        "ref_protected": facts.ref_protected,
        "base_ref": facts.base_ref,
        "head_ref": facts.head_ref,
        "sha": facts.sha,
        "actor": facts.actor,
        "actor_id": facts.actor_id,
        "triggering_actor": facts.triggering_actor or facts.actor,
        "repository": facts.repository,
        "repository_id": facts.repository_id,
        "repository_owner": owner,
        "repository_owner_id": facts.repository_owner_id,
        "repositoryUrl": f"git://{server.partition('://')[2] or server}/{facts.repository}.git",
        "server_url": server,
        "api_url": facts.api_url or _api_url(server),
        "graphql_url": facts.graphql_url or f"{_api_url(server).removesuffix('/v3')}/graphql",
        "run_id": facts.run_id,
        "run_number": str(facts.run_number),
        "run_attempt": str(facts.run_attempt),
        "workflow": facts.workflow,
        "workflow_ref": f"{facts.repository}/{facts.path}@{facts.ref}",
        "workflow_sha": facts.sha,
        "retention_days": str(facts.retention_days),
        "secret_source": facts.secret_source,
    }


def ref_name(ref: str) -> str:
    """Return the short name of a ref, as people know it: ``main``, ``v1``, ``12/merge``."""
    for prefix in (_HEADS, _TAGS, _PULLS):
        if ref.startswith(prefix):
            return ref.removeprefix(prefix)
    return ref


def default_run_name(github: Mapping[str, Raw]) -> str:
    """Return what people see of a run whose workflow has no ``run-name``: what its event is about."""
    event = github.get("event")
    for path in (("pull_request", "title"), ("head_commit", "message"), ("release", "name"), ("issue", "title")):
        text = _text_at(event, path).partition("\n")[0].strip()
        if text:
            return text
    return _text(github.get("workflow"))


def _api_url(server: str) -> str:
    return "https://api.github.com" if server == "https://github.com" else f"{server}/api/v3"


def _text_at(value: object, path: tuple[str, ...]) -> str:
    for key in path:
        value = cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None
    return _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
