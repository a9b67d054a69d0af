"""Bringing a database to the schema of this release: numbered files, one history for both dialects.

Each file has a part ``pre``, which only adds, so the previous release keeps working on it, and a part ``post``, which
may take away. Opening a database runs ``pre``; ``post`` runs at once where no other release can be serving (a new
database, SQLite) and on PostgreSQL when an operator says that the old release is gone. A release therefore works on a
newer schema as long as only ``pre`` parts of later migrations were run.
"""

import hashlib
from importlib import resources
from typing import Final, NamedTuple

from sqlalchemy import Connection

from ostler.store.errors import MigrationChanged, SchemaTooNew
from ostler.store.sql import Insert, Sql, is_postgres, rendered

_LOCK: Final = 7_080_001
_TABLE = Sql(
    "CREATE TABLE IF NOT EXISTS schema_migrations (number BIGINT NOT NULL, phase TEXT NOT NULL, name TEXT NOT NULL,"
    " checksum TEXT NOT NULL, PRIMARY KEY (number, phase))"
)
_DONE = Sql("SELECT number, phase, name, checksum FROM schema_migrations ORDER BY number")
_RECORD = Insert("schema_migrations", {"number": "bigint", "phase": "text", "name": "text", "checksum": "text"})


class Migration(NamedTuple):
    """One numbered file."""

    number: int
    name: str
    checksum: str
    pre: str
    post: str


def migrations() -> list[Migration]:
    """Return the migrations of this release, in order."""
    folder = resources.files("ostler.store") / "migrations"
    texts = {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.name[0].isdigit()}
    return [_parsed(name, texts[name]) for name in sorted(texts)]


def _parsed(name: str, text: str) -> Migration:
    _, _, phases = text.partition("\n-- pre\n")
    pre, _, post = phases.partition("\n-- post\n")
    return Migration(int(name.partition("_")[0]), name, hashlib.sha256(text.encode()).hexdigest(), pre, post)


def migrate(connection: Connection, *, post: bool, known: list[Migration] | None = None) -> None:
    """Run what is missing; refuse a schema that this release cannot work with."""
    known = migrations() if known is None else known
    if is_postgres(connection):
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    _TABLE.run(connection)
    done = {(row[0], row[1]): (row[2], row[3]) for row in _DONE.rows(connection)}
    check(known, done)
    fresh = not done
    for migration in known:
        for phase, text in (("pre", migration.pre), ("post", migration.post)):
            if (migration.number, phase) in done or (phase == "post" and not (post or fresh)):
                continue
            for statement in _statements(rendered(text, postgres=is_postgres(connection))):
                connection.exec_driver_sql(statement)
            _RECORD.run(connection, [(migration.number, phase, migration.name, migration.checksum)])


def check(known: list[Migration], done: dict[tuple[int, str], tuple[str, str]]) -> None:
    """Raise if the recorded history is not one that this release can work with."""
    by_number = {migration.number: migration for migration in known}
    for (number, phase), (name, checksum) in done.items():
        migration = by_number.get(number)
        if migration is None and phase == "post":
            raise SchemaTooNew(
                f"the database was migrated by a newer release ({name}, after which this one cannot use it)"
            )
        if migration is not None and migration.checksum != checksum:
            raise MigrationChanged(
                f"the database was made by another version of {name}; install the release that made it"
            )


def _statements(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    return [statement for piece in "\n".join(lines).split(";\n") if (statement := piece.strip().rstrip(";"))]
