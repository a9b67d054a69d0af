"""How SQLite connections are made: the settings on which durability and the simulated database both rest."""

import sqlite3
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.pool import NullPool

MEMORY: Final = ":memory:"

_BUSY_MILLISECONDS: Final = 10_000


def sqlite_engine(path: str, *, read_only: bool = False) -> Engine:
    """Return an engine whose connections begin and end transactions only when told to.

    WAL lets readers go on beside the writer; ``synchronous=FULL`` makes each commit wait for the disk.
    """

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=512)
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
        if path != MEMORY and not read_only:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA cache_size = -65536")
        if read_only:
            connection.execute("PRAGMA query_only = ON")
        return connection

    return create_engine("sqlite://", creator=connect, poolclass=NullPool, skip_autocommit_rollback=True)


def folder_problem(path: str) -> str:
    """Return why a database file cannot be written there, or nothing."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        return f"the folder {folder} does not exist: create it"
    return ""


def execute(connection: Connection, statement: str) -> None:
    """Run a statement that ends or begins a transaction."""
    connection.exec_driver_sql(statement).close()
