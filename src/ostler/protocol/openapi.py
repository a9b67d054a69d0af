"""The OpenAPI 3.1 document, derived from the endpoint table and the message types.

It says what is true of the wire and nothing more: objects admit unknown fields, because readers ignore them, and each
error names the codes that this call may answer with.
"""

from typing import Any, cast

import msgspec

from ostler.protocol.endpoint import Auth, Binary, Endpoint, NoQuery, Nothing
from ostler.protocol.problem import PROBLEMS, Problem
from ostler.protocol.refusals import by_status
from ostler.protocol.v1.table import ENDPOINTS

JsonObject = dict[str, Any]

_TEMPLATE = "#/components/schemas/{name}"
TAGS = {
    "agent": "The agent protocol, version 1: what runners say to the control plane.",
    "job": "What a job that is under way may ask for with its own token.",
    "api": "The API for people's clients.",
    "simple": "A thin face on the same use cases, for simple runner clients.",
}


def document(version: str) -> JsonObject:
    """Return the whole document."""
    schemas, components = _schemas()
    paths: JsonObject = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ostler",
            "version": version,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            "description": "The agent protocol (`/agent/v1`), the API for people's clients (`/api/v1`) and a thin "
            "face for simple runner clients (`/runners`). Errors are RFC 9457 problems with a stable `code`.",
        },
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "runner": {"type": "http", "scheme": "bearer", "description": "A runner's access token"},
                "job": {"type": "http", "scheme": "bearer", "description": "The token of a job that is under way"},
                "user": {"type": "http", "scheme": "bearer", "description": "An API token"},
            },
        },
    }


def _schemas() -> tuple[dict[Any, JsonObject], JsonObject]:
    types: list[Any] = [Problem]
    for endpoint in ENDPOINTS:
        types += [kind for kind in (endpoint.request, endpoint.reply) if kind not in (Nothing, Binary)]
    types = list(dict.fromkeys(types))
    found, components = msgspec.json.schema_components(types, ref_template=_TEMPLATE)
    return dict(zip(types, found, strict=True)), cast("JsonObject", _portable(components))


def _portable(schema: object) -> object:
    r"""Write patterns as other languages read them: Python's ``\Z`` is ``$`` where no line may follow."""
    if isinstance(schema, dict):
        items = cast("JsonObject", schema).items()
        return {key: str(value).replace(r"\Z", "$") if key == "pattern" else _portable(value) for key, value in items}
    if isinstance(schema, list):
        return [_portable(part) for part in cast("list[object]", schema)]
    return schema


def _operation(endpoint: Endpoint[Any, Any], schemas: dict[Any, JsonObject]) -> JsonObject:
    operation: JsonObject = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "description": _description(endpoint),
        "tags": [tag(endpoint)],
        "parameters": _parameters(endpoint),
        "responses": _responses(endpoint, schemas),
        "security": [] if endpoint.auth is Auth.NONE else [{_scheme(endpoint.auth): []}],
    }
    if endpoint.request is Binary:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    elif endpoint.request is not Nothing:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schemas[endpoint.request]}},
        }
    return operation


def _description(endpoint: Endpoint[Any, Any]) -> str:
    sentences = [
        "A second delivery of the same request changes nothing more than the first."
        if endpoint.retryable
        else "Do not repeat it blindly: each delivery counts."
    ]
    if endpoint.held:
        sentences.append("The server holds the call open until it has something to say.")
    if endpoint.request is not Nothing:
        sentences.append(f"The body holds at most {endpoint.body_limit} bytes.")
    return " ".join(sentences)


def _parameters(endpoint: Endpoint[Any, Any]) -> list[JsonObject]:
    parameters: list[JsonObject] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in endpoint.parameters
    ]
    if endpoint.query is NoQuery:
        return parameters
    schema = msgspec.json.schema(endpoint.query)
    definition = schema["$defs"][endpoint.query.__name__]
    required = set(definition.get("required", ()))
    for name, kind in definition["properties"].items():
        parameters.append({"name": name, "in": "query", "required": name in required, "schema": kind})
    return parameters


def _responses(endpoint: Endpoint[Any, Any], schemas: dict[Any, JsonObject]) -> JsonObject:
    success: JsonObject = {"description": "Done"}
    if endpoint.stream is not None:
        success["content"] = {endpoint.stream: {"schema": {"type": "string"}}}
    elif endpoint.status != 204 and endpoint.reply is not Nothing:
        success["content"] = {"application/json": {"schema": schemas[endpoint.reply]}}
    responses: JsonObject = {str(endpoint.status): success}
    for status, codes in by_status(endpoint).items():
        # Beside a reference other keywords are allowed since OpenAPI 3.1; they narrow it to this call's codes.
        schema = {**schemas[Problem], "properties": {"code": {"enum": codes}}}
        responses[str(status)] = {
            "description": "\n".join(f"- `{code}`: {PROBLEMS[code].title}" for code in codes),
            "content": {"application/problem+json": {"schema": schema}},
        }
    return responses


def _scheme(auth: Auth) -> str:
    return auth.value if auth in (Auth.RUNNER, Auth.JOB) else "user"


def tag(endpoint: Endpoint[Any, Any]) -> str:
    """Return the group that an endpoint is listed in."""
    if endpoint.path.startswith("/agent/"):
        return "agent"
    if endpoint.path.startswith("/job/"):
        return "job"
    return "simple" if endpoint.path.startswith("/runners") else "api"
