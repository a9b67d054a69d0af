"""The protocol as people read it: calls in groups, messages with their fields in words.

The server's page ``/api`` and the documentation's page are two ways to draw this; it is derived from the same document
that programs read, so that nothing can be said in one place and not in the other.
"""

from typing import Any, NamedTuple

import msgspec

from ostler.protocol.endpoint import Auth, Binary, Endpoint, NoQuery, Nothing
from ostler.protocol.openapi import TAGS, document, tag
from ostler.protocol.problem import PROBLEMS
from ostler.protocol.refusals import codes
from ostler.protocol.v1.table import ENDPOINTS

JsonObject = dict[str, Any]

_CALLERS = {
    Auth.NONE: "anybody",
    Auth.RUNNER: "a runner, with its access token",
    Auth.JOB: "a job that is under way, with its own token",
    Auth.USER: "a person, with an API token",
    Auth.OPERATOR: "a person with the role operator or above",
}


class Kind(NamedTuple):
    """What values a field takes: words, the message that they lead to, and limits."""

    words: str
    message: str = ""
    limits: str = ""


class Field(NamedTuple):
    """A field of a message or a parameter of a query. ``default`` is JSON; it is empty if the field is required."""

    name: str
    kind: Kind
    required: bool
    default: str


class Message(NamedTuple):
    """A message with its fields, or an enumeration with its values."""

    name: str
    summary: str
    fields: tuple[Field, ...]
    values: tuple[str, ...]


class Refusal(NamedTuple):
    """A problem that a call may answer with."""

    code: str
    status: int
    title: str
    fix: str


class Call(NamedTuple):
    """One endpoint. ``takes`` and ``gives`` name messages or media types; both may be empty."""

    name: str
    method: str
    path: str
    summary: str
    caller: str
    notes: str
    query: tuple[Field, ...]
    takes: str
    status: int
    gives: str
    refusals: tuple[Refusal, ...]


class Group(NamedTuple):
    """Calls that belong together."""

    name: str
    summary: str
    calls: tuple[Call, ...]


class Reference(NamedTuple):
    """Everything."""

    groups: tuple[Group, ...]
    messages: tuple[Message, ...]
    refusals: tuple[Refusal, ...]


def reference() -> Reference:
    """Return the whole protocol."""
    described = document("")
    calls = [(tag(row), _call(row, described["paths"][row.path][row.method.lower()])) for row in ENDPOINTS]
    schemas = described["components"]["schemas"]
    return Reference(
        tuple(Group(name, text, tuple(call for group, call in calls if group == name)) for name, text in TAGS.items()),
        tuple(_message(name, schemas[name]) for name in sorted(schemas)),
        tuple(_refusal(code) for code in PROBLEMS),
    )


def _call(row: Endpoint[Any, Any], operation: JsonObject) -> Call:
    parameters = [each for each in operation["parameters"] if each["in"] == "query"] if row.query is not NoQuery else []
    return Call(
        name=row.name,
        method=row.method,
        path=row.path,
        summary=row.summary,
        caller=_CALLERS[row.auth],
        notes=operation["description"],
        query=tuple(_field(each["name"], each["schema"], each["required"]) for each in parameters),
        takes=_body(row.request),
        status=row.status,
        gives=row.stream or _body(row.reply),
        refusals=tuple(_refusal(code) for code in codes(row)),
    )


def _body(kind: type[Any]) -> str:
    if kind is Binary:
        return "application/octet-stream"
    return "" if kind is Nothing else kind.__name__


def _refusal(code: str) -> Refusal:
    kind = PROBLEMS[code]
    return Refusal(code, kind.status, kind.title, kind.fix)


def _message(name: str, schema: JsonObject) -> Message:
    required = set(schema.get("required", ()))
    fields = [_field(field, kind, field in required) for field, kind in schema.get("properties", {}).items()]
    summary = " ".join(str(schema.get("description", "")).replace("``", "`").split())
    return Message(name, summary, tuple(fields), tuple(str(value) for value in schema.get("enum", ())))


def _field(name: str, schema: JsonObject, required: bool) -> Field:  # noqa: FBT001 - two callers, above
    return Field(name, _kind(schema), required, "" if required else _json(schema.get("default")))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _kind(schema: JsonObject) -> Kind:
    if "$ref" in schema:
        return Kind("", str(schema["$ref"]).rpartition("/")[2])
    if "anyOf" in schema:
        given = [each for each in schema["anyOf"] if each != {"type": "null"}]
        kind = _kind(given[0])
        return kind._replace(words=f"{kind.words} or null".strip()) if len(given) < len(schema["anyOf"]) else kind
    if "enum" in schema:
        return Kind("one of", limits=", ".join(_json(value) for value in schema["enum"]))
    if "prefixItems" in schema:
        return Kind("a list of " + ", ".join(_kind(each).words for each in schema["prefixItems"]))
    match schema.get("type"):
        case "array":
            item = _kind(schema["items"])
            return Kind(f"list of {item.words}".strip(), item.message, _limits(schema, "Items", " items"))
        case "object":
            item = _kind(schema.get("additionalProperties", {}))
            return Kind(f"map of strings to {item.words}".strip(), item.message)
        case "string":
            return Kind("string", limits=_limits(schema, "Length", " characters"))
        case other:
            return Kind(str(other), limits=_limits(schema, "imum", ""))


def _limits(schema: JsonObject, ending: str, unit: str) -> str:
    lowest, highest = schema.get(f"min{ending}"), schema.get(f"max{ending}")
    if lowest is not None and lowest == highest:
        return f"{lowest}{unit}"
    if lowest is not None and highest is not None:
        return f"{lowest} to {highest}{unit}"
    if highest is not None:
        return f"at most {highest}{unit}"
    return "" if lowest is None else f"at least {lowest}{unit}"
