"""The OpenAPI 3.1 document, derived from the endpoint table and the message types."""

from typing import Any

import msgspec

from ostler.protocol.endpoint import Auth, Binary, Endpoint, NoQuery, Nothing
from ostler.protocol.problem import PROBLEMS, Problem
from ostler.protocol.v1.table import ENDPOINTS

JsonObject = dict[str, Any]

_TEMPLATE = "#/components/schemas/{name}"
_ALWAYS = ("body_malformed", "query_malformed", "body_too_large", "internal", "unavailable")


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
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "runner": {"type": "http", "scheme": "bearer", "description": "A runner's access token"},
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
    return dict(zip(types, found, strict=True)), components


def _operation(endpoint: Endpoint[Any, Any], schemas: dict[Any, JsonObject]) -> JsonObject:
    operation: JsonObject = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "tags": [_tag(endpoint.path)],
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
    for code in _problem_codes(endpoint):
        kind = PROBLEMS[code]
        entry = responses.setdefault(
            str(kind.status),
            {"description": "", "content": {"application/problem+json": {"schema": schemas[Problem]}}},
        )
        entry["description"] = "; ".join(filter(None, (entry["description"], f"`{code}`: {kind.title}")))
    return responses


def _problem_codes(endpoint: Endpoint[Any, Any]) -> list[str]:
    codes = list(_ALWAYS)
    if endpoint.auth is not Auth.NONE:
        codes += ["unauthenticated", "token_expired", "forbidden", "csrf_refused"]
    return sorted({*codes, *endpoint.problems})


def _scheme(auth: Auth) -> str:
    return "runner" if auth is Auth.RUNNER else "user"


def _tag(path: str) -> str:
    if path.startswith("/agent/"):
        return "agent"
    return "simple" if path.startswith("/runners") else "api"
