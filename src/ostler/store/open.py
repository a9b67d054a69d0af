"""Opening a database by its address, with errors that say what to do."""

import sqlite3
from pathlib import Path

import asyncpg
from sqlalchemy.exc import DBAPIError

from ostler.store.connections import folder_problem
from ostler.store.database import Database
from ostler.store.errors import DatabaseAddressMalformed, DatabaseNotWritable, DatabaseUnavailable
from ostler.store.postgres import PostgresDatabase
from ostler.store.sqlite import SqliteDatabase


async def open_database(url: str, *, post: bool = False) -> Database:
    """Open and migrate ``sqlite:///PATH`` or ``postgresql://USER@HOST[,HOST…]/NAME``.

    ``post`` also runs what the previous release could not bear; say so once it is gone.
    """
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return _open_sqlite(rest[1:])
    if separator and scheme in ("postgresql", "postgres") and rest:
        return await _open_postgres(f"postgresql://{rest}", post=post)
    raise DatabaseAddressMalformed(
        f"{_shown(url)!r} is not a database address; write sqlite:///PATH or postgresql://USER@HOST/NAME"
    )


def _open_sqlite(path: str) -> SqliteDatabase:
    if problem := folder_problem(path):
        raise DatabaseNotWritable(f"cannot open the database {path}: {problem}")
    try:
        return SqliteDatabase(path)
    except (DBAPIError, sqlite3.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        raise DatabaseNotWritable(
            f"cannot write the database {Path(path).resolve()}: {cause}; check who owns it and that the disk has room"
        ) from error


async def _open_postgres(url: str, *, post: bool) -> PostgresDatabase:
    try:
        return await PostgresDatabase.open(url, post=post)
    except asyncpg.PostgresError as error:
        raise DatabaseUnavailable(
            f"PostgreSQL at {_shown(url)} refuses: {error}; check its name, user and password"
        ) from error


def _shown(url: str) -> str:
    """The address without its password."""
    scheme, separator, rest = url.partition("://")
    credentials, at, place = rest.rpartition("@")
    return f"{scheme}{separator}{credentials.partition(':')[0]}{at}{place}"
