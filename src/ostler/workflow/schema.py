"""JSON Schemas of workflows and actions, for editors: made of the shapes that the checks walk along.

A schema can say less than the checks: an expression may stand wherever the place knows contexts, so every such value
may also be a text that holds ``${{``. Which expression, is left to ``ostler validate``.
"""

import re
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
    return _Maker().document("Workflow", ROOT)


def action_schema() -> Schema:
    """Return the schema of an ``action.yml``."""
    return _Maker().document("Action", METADATA)


SCHEMAS: Final[dict[str, Callable[[], Schema]]] = {"workflow": workflow_schema, "action": action_schema}


class _Maker:
    """Makes schemas of shapes; each table becomes one definition for each scope that it stands in."""

    def __init__(self) -> None:
        self._definitions: dict[str, Schema] = {}
        self._names: dict[tuple[int, Scope], str] = {}

    def document(self, title: str, root: Table) -> Schema:
        """Return the schema of a file."""
        schema = self._of(root, NOWHERE)
        return {"$schema": _DIALECT, "title": title, **schema, "definitions": self._definitions}

    def _of(self, shape: Shape, outer: Scope) -> Schema:
        """Return the schema of one value."""
        scope = joined(outer, shape.scope)
        schemas = self._forms(shape, scope)
        if scope.takes_expressions and not any(_takes_any_text(schema) for schema in schemas):
            schemas.append(_TEMPLATE)
        together: Schema = {"anyOf": schemas}
        return schemas[0] if len(schemas) == 1 else together

    def _forms(self, shape: Shape, scope: Scope) -> list[Schema]:
        """Return the schemas of the forms that a value may have when it is written out."""
        match shape:
            case Either():
                return [schema for each in shape.shapes for schema in self._forms(each, joined(scope, each.scope))]
            case Variants():
                tables = [variant.table for variant in shape.variants]
                if shape.otherwise is not None:
                    tables.append(shape.otherwise)
                return [self._reference(table, joined(scope, table.scope)) for table in tables]
            case Table():
                return [self._reference(shape, scope)]
            case ListOf():
                schema: Schema = {"type": "array", "items": self._of(shape.item, scope)}
                return [{**schema, "minItems": 1} if shape.filled else schema]
            case _:
                return [_single(shape)]

    def _reference(self, table: Table, scope: Scope) -> Schema:
        name = self._names.get((id(table), scope))
        if name is None:
            words = "-".join(re.findall(r"[a-z_.]+", table.noun.lower()))
            name, number = words, 1
            while name in self._definitions:
                number += 1
                name = f"{words}-{number}"
            self._names[id(table), scope] = name
            self._definitions[name] = {}
            self._definitions[name] = self._table(table, scope)
        return {"$ref": f"#/definitions/{name}"}

    def _table(self, table: Table, scope: Scope) -> Schema:
        properties = {name: self._key(key, scope) for name, key in table.keys.items()}
        schema: Schema = {"type": "object", "properties": properties}
        required = [name for name, key in table.keys.items() if key.required]
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False if table.others is None else self._of(table.others, scope)
        if table.others is None and scope.takes_expressions:
            schema["patternProperties"] = {_COMPUTED_KEY: {}}
        if table.filled:
            schema["minProperties"] = 1
        return schema

    def _key(self, key: Key, scope: Scope) -> Schema:
        schema = self._of(key.shape, scope)
        if "$ref" in schema:
            within: Schema = {"allOf": [schema]}
            schema = within
        if not key.doc:
            return schema
        described: Schema = {"description": key.doc.replace("`", "")}
        return described | schema


def _takes_any_text(schema: Schema) -> bool:
    types = schema.get("type")
    return not schema or (isinstance(types, list) and "string" in types)


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
