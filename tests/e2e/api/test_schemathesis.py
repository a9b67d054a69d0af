"""The running server keeps what its own OpenAPI document promises, whatever it is sent.

Every call is tried with data that fits the document and with data that does not: no internal error, only documented
statuses and codes, every body as described. A call that takes an id is tried again with things that exist.
"""

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

import httpx2
import msgspec
import schemathesis
from schemathesis import checks as registered
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig

from ostler import __version__
from ostler.protocol.endpoint import Auth
from ostler.protocol.openapi import document
from ostler.protocol.v1.run_messages import LogLinesReply
from ostler.protocol.v1.table import ENDPOINTS
from tests.e2e.api.conftest import World

Case = Any
DOCUMENT = document(__version__)
_GENERATION = GenerationConfig(max_examples=6, deterministic=True, no_shrink=True)
_PROJECT = ProjectConfig(generation=_GENERATION, request_timeout=5)
SCHEMA: Any = schemathesis.openapi.from_dict(
    DOCUMENT, config=SchemathesisConfig(projects=ProjectsConfig(default=_PROJECT))
)

CHECKS = cast("list[Callable[..., object]]", cast("Any", registered).CHECKS.get_all())
Test = TypeVar("Test", bound=Callable[..., None])

_AUTH = {row.name: row.auth for row in ENDPOINTS}
_LEFT_OUT = {
    # A text that has the right form may still be no key, no name that is free and no label that is allowed.
    "positive_data_acceptance",
    # A reader passes over what it does not know, and a query is text that is read as numbers.
    "negative_data_rejection",
    # What was deleted is gone; what never existed was not there before. Both are covered by other tests.
    "use_after_free",
    "ensure_resource_availability",
    "object_level_authorization",
}


def every_call_of(selected: Any) -> Callable[[Test], Test]:  # noqa: ANN401 - schemathesis types its schemas loosely
    return selected.parametrize()


def call(case: Case, world: World) -> None:
    name = case.operation.definition.raw["operationId"]
    token = {Auth.NONE: "", Auth.RUNNER: world.runner_token, Auth.JOB: world.job_token}.get(
        _AUTH[name], world.user_token
    )
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if name == "claim":
        with contextlib.suppress(TypeError):  # a body that is no object
            case.body["wait_ms"] = 0
    left_out: set[str] = _LEFT_OUT | ({"response_schema_conformance"} if name == "log_lines" else set())
    checks = [check for check in CHECKS if check.__name__ not in left_out]
    reply = case.call_and_validate(base_url=world.url, headers=headers, checks=checks)
    if name == "log_lines" and reply.status_code == 200:
        # Schemathesis rewrites the schema of tuples for its generator and then cannot read it any more.
        msgspec.json.decode(reply.content, type=LogLinesReply)


def test_the_document_is_the_one_that_is_served(world: World) -> None:
    assert httpx2.get(f"{world.url}/api/openapi.json").json() == DOCUMENT


@every_call_of(SCHEMA)
def test_whatever_is_sent(case: Case, world: World) -> None:
    call(case, world)


@every_call_of(SCHEMA.include(path_regex=r"\{").exclude(path_regex=r"/follow$"))
def test_with_things_that_exist(case: Case, world: World) -> None:
    case.path_parameters.update({name: world.existing[name] for name in case.path_parameters})
    call(case, world)
