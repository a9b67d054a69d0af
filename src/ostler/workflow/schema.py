"""JSON Schemas of workflows and actions, for editors: made of the shapes that the checks walk along.

A schema can say less than the checks: an expression may stand wherever the place knows contexts, so every such value
may also be a text that holds ``${{``. Which expression, is left to ``ostler validate``.
"""

from collections.abc import Callable
from typing import Final

from ostler.workflow.language.metadata import METADATA
from ostler.workflow.language.root import ROOT
from ostler.workflow.language.scopes import NOWHERE, Scope, joined
from ostler.workflow.language.shapes import (
    Anything,
    Either,
    Flag,
    Key,
    ListOf,
    Null,
    Number,
    Shape,
    Table,
    Text,
    Variants,
)

Schema = dict[str, object]

_DIALECT: Final = "http://json-schema.org/draft-07/schema#"
_TEMPLATE: Final[Schema] = {"type": "string", "pattern": r"\$\{\{"}
_COMPUTED_KEY: Final = r"\$\{\{"
_SCALARS: Final = ["string", "number", "boolean", "null"]


def workflow_schema() -> Schema:
    """Return the schema of a workflow file."""
    return {"$schema": _DIALECT, "title": "Workflow", **_of(ROOT, NOWHERE)}


def action_schema() -> Schema:
    """Return the schema of an ``action.yml``."""
    return {"$schema": _DIALECT, "title": "Action", **_of(METADATA, NOWHERE)}


SCHEMAS: Final[dict[str, Callable[[], Schema]]] = {"workflow": workflow_schema, "action": action_schema}


def _of(shape: Shape, outer: Scope) -> Schema:
    """Return the schema of one value."""
    scope = joined(outer, shape.scope)
    schemas = list(_plain(shape, scope))
    if scope.takes_expressions and not any(_takes_any_text(schema) for schema in schemas):
        schemas.append(_TEMPLATE)
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _takes_any_text(schema: Schema) -> bool:
    types = schema.get("type")
    return not schema or (isinstance(types, list) and "string" in types)


def _plain(shape: Shape, scope: Scope) -> list[Schema]:
    """Return the schemas of the forms that a value may have when it is written out."""
    match shape:
        case Either():
            return [schema for each in shape.shapes for schema in _plain(each, joined(scope, each.scope))]
        case Variants():
            tables = [variant.table for variant in shape.variants]
            if shape.otherwise is not None:
                tables.append(shape.otherwise)
            return [_table(table, joined(scope, table.scope)) for table in tables]
        case Table():
            return [_table(shape, scope)]
        case ListOf():
            schema: Schema = {"type": "array", "items": _of(shape.item, scope)}
            return [{**schema, "minItems": 1} if shape.filled else schema]
        case _:
            return [_single(shape)]


def _single(shape: Text | Flag | Number | Null | Anything) -> Schema:
    match shape:
        case Text():
            if shape.choices:
                return {"type": "string", "enum": list(shape.choices)}
            return {"type": ["string", "number", "boolean"]} if shape.filled else {"type": _SCALARS}
        case Flag():
            return {"type": "boolean"}
        case Number():
            return {"type": "number"} if shape.least is None else {"type": "number", "minimum": shape.least}
        case Null():
            return {"type": "null"}
        case Anything():
            return {}


def _table(table: Table, scope: Scope) -> Schema:
    schema: Schema = {"type": "object", "properties": {name: _key(key, scope) for name, key in table.keys.items()}}
    required = [name for name, key in table.keys.items() if key.required]
    if required and not scope.takes_expressions:
        schema["required"] = required
    schema["additionalProperties"] = False if table.others is None else _of(table.others, scope)
    if table.others is None and scope.takes_expressions:
        schema["patternProperties"] = {_COMPUTED_KEY: {}}
    if table.filled:
        schema["minProperties"] = 1
    return schema


def _key(key: Key, scope: Scope) -> Schema:
    schema = _of(key.shape, scope)
    return {"description": key.doc.replace("`", ""), **schema} if key.doc else schema
