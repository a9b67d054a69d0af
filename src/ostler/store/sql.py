"""Statements written once for both dialects, rendered when the module is imported.

Everything goes through SQLAlchemy's connection, but past its compiler: the hot path cannot afford to build a statement
for each call. The dialects differ in five places only, which the text marks with brackets:

    [lock] [skip_locked]      FOR UPDATE …; SQLite has one writer and needs none
    [among ids]               membership in a list that is one parameter, whatever its length
    [picked] … [/picked]      membership in a limited, locked sub-select, forced to be evaluated once
    [bytes] [clustered] [updated]  in migrations
"""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec
from sqlalchemy import Connection

from ostler.store.errors import RowsMissed

Value = str | int | bytes | float | None
Parameter = Value | Sequence[str]
Fields = Sequence[Any]
"""One row as the database gave it: this is the edge where its values get their types."""

Shape = tuple[bool, ...]
"""For each column of a group of rows, whether its values differ."""

_NAME = re.compile(r"(?<![:\w]):([a-z_]+)")
_AMONG = re.compile(r"\[among ([a-z_]+)\]")

_POSTGRES = {
    "[lock]": "FOR UPDATE",
    "[skip_locked]": "FOR UPDATE SKIP LOCKED",
    "[picked]": "= ANY(ARRAY(",
    "[/picked]": "))",
    "[bytes]": "BYTEA",
    "[clustered]": "",
    "[updated]": "WITH (fillfactor = 70)",
    "[updated twice]": "WITH (fillfactor = 45)",
}
_SQLITE = {
    "[lock]": "",
    "[skip_locked]": "",
    "[picked]": "IN (",
    "[/picked]": ")",
    "[bytes]": "BLOB",
    "[clustered]": "WITHOUT ROWID",
    "[updated]": "",
    "[updated twice]": "",
}


def is_postgres(connection: Connection) -> bool:
    """Return which of the two dialects this is."""
    return connection.dialect.name == "postgresql"


def rendered(text: str, *, postgres: bool) -> str:
    """Return the text with its bracketed marks replaced."""
    for mark, replacement in (_POSTGRES if postgres else _SQLITE).items():
        text = text.replace(mark, replacement)
    return text


class Sql:
    """One statement with named parameters, ready for both dialects."""

    __slots__ = ("_lists", "_names", "_postgres", "_sqlite")

    def __init__(self, text: str) -> None:
        self._lists: Final = tuple(dict.fromkeys(_AMONG.findall(text)))
        self._sqlite: Final = _AMONG.sub(r"IN (SELECT value FROM json_each(:\1))", rendered(text, postgres=False))
        postgres = _AMONG.sub(r"= ANY(:\1)", rendered(text, postgres=True))
        self._names: Final = tuple(dict.fromkeys(_NAME.findall(postgres)))
        self._postgres: Final = _NAME.sub(lambda found: f"${self._names.index(found[1]) + 1}", postgres)

    def text(self, *, postgres: bool) -> str:
        """Return what is sent to the database, for EXPLAIN."""
        return self._postgres if postgres else self._sqlite

    def rows(self, connection: Connection, **parameters: Parameter) -> Sequence[Fields]:
        """Execute and return all rows."""
        return self._execute(connection, parameters)[0]

    def row(self, connection: Connection, **parameters: Parameter) -> Fields | None:
        """Execute and return the first row, if there is one."""
        rows, _ = self._execute(connection, parameters)
        return rows[0] if rows else None

    def run(self, connection: Connection, **parameters: Parameter) -> int:
        """Execute and return how many rows were written."""
        return self._execute(connection, parameters)[1]

    def _execute(self, connection: Connection, parameters: dict[str, Parameter]) -> tuple[Sequence[Fields], int]:
        if is_postgres(connection):
            values = tuple([parameters[name] for name in self._names])
            result = connection.exec_driver_sql(self._postgres, values)
            rows = cast("Sequence[Fields]", result.all()) if result.returns_rows else ()
            return rows, result.rowcount
        for name in self._lists:
            parameters[name] = msgspec.json.encode(parameters[name]).decode()
        # The driver's own cursor: SQLAlchemy's description of each result would cost more than SQLite's whole answer.
        cursor = cast("sqlite3.Connection", connection.connection.dbapi_connection).execute(self._sqlite, parameters)
        return cursor.fetchall(), cursor.rowcount


class Insert:
    """Insert many rows with one round trip: arrays on PostgreSQL, a prepared statement run over the rows on SQLite."""

    __slots__ = ("_columns", "_conflict", "_shapes", "_sqlite", "_table")

    def __init__(self, table: str, columns: Mapping[str, str], *, conflict: str = "") -> None:
        self._table: Final = table
        self._columns: Final = dict(columns)
        self._conflict: Final = conflict
        self._shapes: Final[dict[Shape, str]] = {}
        head = f"INSERT INTO {table} ({', '.join(columns)})"
        self._sqlite: Final = f"{head} VALUES ({', '.join('?' * len(columns))}) {conflict}"

    def run(self, connection: Connection, rows: Sequence[tuple[Value, ...]]) -> None:
        """Insert the rows; none is fine."""
        if not rows:
            return
        if is_postgres(connection):
            shape, parameters = _folded(rows, 0)
            connection.exec_driver_sql(self._shapes.get(shape) or self._shaped(shape), parameters)
        else:
            connection.exec_driver_sql(self._sqlite, list(rows))

    def _shaped(self, shape: Shape) -> str:
        names, arrays, values = _places(self._columns, shape)
        statement = self._shapes[shape] = (
            f"INSERT INTO {self._table} ({', '.join(self._columns)}) SELECT {', '.join(values)}"
            f" FROM unnest({', '.join(arrays)}) AS given({', '.join(names)}) {self._conflict}"
        )
        return statement


class Update:
    """Update many rows, found by their key columns, each with its own values."""

    __slots__ = ("_columns", "_first", "_keys", "_shapes", "_sqlite", "_table", "_values")

    def __init__(self, table: str, keys: Mapping[str, str], values: Mapping[str, str]) -> None:
        self._table: Final = table
        self._keys: Final = tuple(keys)
        self._values: Final = tuple(values)
        self._columns: Final = {**values, **keys}
        self._first: Final = len(values)
        self._shapes: Final[dict[Shape, str]] = {}
        places = ", ".join(f"{name} = ?" for name in values)
        self._sqlite: Final = f"UPDATE {table} SET {places} WHERE {' AND '.join(f'{name} = ?' for name in keys)}"

    def statement(self, rows: Sequence[tuple[Value, ...]]) -> tuple[str, tuple[Any, ...]]:
        """Return what is sent to PostgreSQL for these rows, and its parameters."""
        shape, parameters = _folded(rows, self._first)
        return self._shapes.get(shape) or self._shaped(shape), parameters

    def run(self, connection: Connection, rows: Sequence[tuple[Value, ...]]) -> None:
        """Update every row, values first and keys last; a row that is not met undoes the transaction."""
        if not rows:
            return
        if is_postgres(connection):
            met = connection.exec_driver_sql(*self.statement(rows)).rowcount
        else:
            met = connection.exec_driver_sql(self._sqlite, list(rows)).rowcount
        if met != len(rows):
            raise RowsMissed(f"{met} of {len(rows)} rows of {self._table} were there to update")

    def _shaped(self, shape: Shape) -> str:
        names, arrays, values = _places(self._columns, shape)
        given = dict(zip(self._columns, values, strict=True))
        assignments = ", ".join(f"{name} = {given[name]}" for name in self._values)
        found = " AND ".join(f"{self._table}.{name} = {given[name]}" for name in self._keys)
        # The list of first keys is repeated as a condition of its own, which the planner answers from the index; from
        # the join alone it may conclude to read the whole table.
        first = self._keys[0]
        found += f" AND {self._table}.{first} = ANY(${self._first + 1}::{self._columns[first]}[])"
        statement = self._shapes[shape] = (
            f"UPDATE {self._table} SET {assignments} FROM unnest({', '.join(arrays)}) AS given({', '.join(names)})"
            f" WHERE {found}"
        )
        return statement


def _folded(rows: Sequence[tuple[Value, ...]], whole: int) -> tuple[Shape, tuple[Any, ...]]:
    """Return which columns differ between the rows, and the parameters: a list for those, one value for the others.

    Most columns of a group are the same in all its rows, and every element of a list costs the driver. The column
    ``whole`` is a list in any case.
    """
    columns = list(zip(*rows, strict=True))
    shape = tuple([place == whole or column.count(column[0]) != len(column) for place, column in enumerate(columns)])
    return shape, tuple([list(column) if each else column[0] for each, column in zip(shape, columns, strict=True)])


def _places(columns: Mapping[str, str], shape: Shape) -> tuple[list[str], list[str], list[str]]:
    """Return the names and the arrays of the columns that differ, and the expression for each column's value."""
    places = [
        (name, f"${at}::{columns[name]}", each) for at, (name, each) in enumerate(zip(columns, shape, strict=True), 1)
    ]
    names = [name for name, _, each in places if each]
    arrays = [f"{place}[]" for _, place, each in places if each]
    return names, arrays, [f"given.{name}" if each else place for name, place, each in places]
