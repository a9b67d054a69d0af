"""The document says of each call what the table says; tests/contract proves that it is valid OpenAPI 3.1."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator, ValidationError, validate

from ostler.protocol.endpoint import Auth, Binary, Endpoint, Nothing
from ostler.protocol.openapi import document
from ostler.protocol.problem import PROBLEMS
from ostler.protocol.refusals import by_status
from ostler.protocol.v1.table import APPEND_LOG, ENDPOINTS, LOG_FOLLOW, LOG_LINES, LOG_SEARCH

DOCUMENT = document("1.2.3")
SCHEMAS = DOCUMENT["components"]["schemas"]
every_row = pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ENDPOINTS])


def operation(row: Endpoint[Any, Any]) -> dict[str, Any]:
    return DOCUMENT["paths"][row.path][row.method.lower()]


def nodes(part: object) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield cast("dict[str, Any]", part)
        for value in cast("dict[str, object]", part).values():
            yield from nodes(value)
    elif isinstance(part, list):
        for value in cast("list[object]", part):
            yield from nodes(value)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_message_is_a_valid_json_schema(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])


def test_every_reference_leads_to_a_message() -> None:
    references = {node["$ref"] for node in nodes(DOCUMENT) if "$ref" in node}
    assert references
    assert references <= {f"#/components/schemas/{name}" for name in SCHEMAS}


def test_objects_admit_unknown_fields() -> None:
    assert not [node for node in nodes(SCHEMAS) if node.get("additionalProperties") is False]


def test_patterns_are_written_for_any_language() -> None:
    patterns = [str(node["pattern"]) for node in nodes(SCHEMAS) if "pattern" in node]
    assert r"^[A-Za-z_][A-Za-z0-9_]*$" in patterns
    assert not [pattern for pattern in patterns if r"\Z" in pattern or r"\A" in pattern]


@every_row
def test_a_call_is_described_by_its_row(row: Endpoint[Any, Any]) -> None:
    described = operation(row)
    assert described["operationId"] == row.name
    assert (described["security"] == []) == (row.auth is Auth.NONE)
    assert ("requestBody" in described) == (row.request is not Nothing)
    in_path = [each for each in described["parameters"] if each["in"] == "path"]
    in_query = {each["name"] for each in described["parameters"] if each["in"] == "query"}
    assert [each["name"] for each in in_path] == list(row.parameters)
    assert all(each["required"] for each in in_path)
    assert in_query == set(row.query.__struct_fields__)


@every_row
def test_a_call_names_its_problems_under_their_status(row: Endpoint[Any, Any]) -> None:
    responses = operation(row)["responses"]
    assert responses.keys() == {str(row.status), *(str(status) for status in by_status(row))}
    for status, codes in by_status(row).items():
        answer = responses[str(status)]
        schema = answer["content"]["application/problem+json"]["schema"]
        assert schema["$ref"] == "#/components/schemas/Problem"
        assert schema["properties"]["code"]["enum"] == codes
        assert all(f"`{code}`: {PROBLEMS[code].title}" in answer["description"] for code in codes)


def test_a_parameter_says_its_limits_and_default() -> None:
    parameters = {each["name"]: each for each in operation(LOG_LINES)["parameters"]}
    assert parameters["lines"] == {
        "name": "lines",
        "in": "query",
        "required": False,
        "schema": {"type": "integer", "minimum": 1, "maximum": 5000, "default": 500},
    }
    required = {each["name"]: each["required"] for each in operation(LOG_SEARCH)["parameters"]}
    assert required["q"]
    assert not required["limit"]


def test_raw_bytes_are_a_binary_body() -> None:
    assert APPEND_LOG.request is Binary
    body = operation(APPEND_LOG)["requestBody"]
    assert body["content"] == {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


def test_streams_have_their_own_media_types() -> None:
    streams = {row.name: row.stream for row in ENDPOINTS if row.stream is not None}
    assert streams["log_follow"] == "text/event-stream"
    for row in ENDPOINTS:
        if row.stream is not None:
            assert list(operation(row)["responses"]["200"]["content"]) == [row.stream]
    assert LOG_FOLLOW.reply is Nothing


def test_a_log_line_is_a_tuple_of_text_time_and_step() -> None:
    line = SCHEMAS["LogLinesReply"]["properties"]["lines"]["items"]
    assert line["prefixItems"] == [{"type": "string"}, {"type": "integer"}, {"type": "integer"}]
    assert (line["minItems"], line["maxItems"], line["items"]) == (3, 3, False)
    validate(["text", 1, 0], line)
    with pytest.raises(ValidationError):
        validate(["text", 1], line)
