"""What others can see of the protocol, as plain data: endpoints, messages and problem codes, without the prose."""

from pathlib import Path
from typing import Any, cast

import msgspec

from ostler.protocol.endpoint import Binary, Endpoint, NoQuery, Nothing
from ostler.protocol.openapi import document
from ostler.protocol.problem import PROBLEMS
from ostler.protocol.refusals import codes
from ostler.protocol.v1.table import ENDPOINTS

GOLDEN = Path(__file__).parent / "golden" / "v1.json"

JsonObject = dict[str, Any]


def surface() -> JsonObject:
    """Return the surface of the protocol as it is now."""
    queries = [row.query for row in ENDPOINTS if row.query is not NoQuery]
    _, query_schemas = msgspec.json.schema_components(list(dict.fromkeys(queries)), ref_template="#/{name}")
    schemas = {**document("")["components"]["schemas"], **query_schemas}
    return {
        "endpoints": {row.name: _endpoint(row) for row in sorted(ENDPOINTS, key=lambda row: row.name)},
        "messages": {name: _bare(schemas[name]) for name in sorted(schemas)},
        "problems": {code: PROBLEMS[code].status for code in sorted(PROBLEMS)},
    }


def golden() -> JsonObject:
    """Return the surface that was agreed on last."""
    return msgspec.json.decode(GOLDEN.read_bytes())


def _endpoint(row: Endpoint[Any, Any]) -> JsonObject:
    return {
        "method": row.method,
        "path": row.path,
        "auth": row.auth.value,
        "status": row.status,
        "request": _message(row.request),
        "query": "" if row.query is NoQuery else row.query.__name__,
        "reply": row.stream or _message(row.reply),
        "retryable": row.retryable,
        "body_limit": row.body_limit,
        "problems": codes(row),
    }


def _message(kind: type[Any]) -> str:
    if kind is Binary:
        return "bytes"
    return "" if kind is Nothing else kind.__name__


def _bare(schema: object) -> object:
    """Return the schema without its prose; references become the name of the message."""
    if isinstance(schema, list):
        return [_bare(part) for part in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    kept: JsonObject = {}
    for key, value in cast("JsonObject", schema).items():
        if key == "properties":
            kept[key] = {name: _bare(part) for name, part in cast("JsonObject", value).items()}
        elif key == "$ref":
            kept[key] = str(value).rpartition("/")[2]
        elif key not in ("title", "description"):
            kept[key] = _bare(value)
    return kept
