"""Bytes on their way into an artifact or a cache entry, in parts by offset, from one attempt and no other.

Every function looks at the attempt with its row locked: what has ended writes nothing more (rule 7). Blobs are stored
before a part is noted here and deleted after it is forgotten, so a row never names a blob that is not there.
"""

# ruff: noqa: S608 - the pieces of these statements are constants of this program

from typing import Final

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.domain.storage import UploadState
from ostler.store import job_scopes
from ostler.store.job_scopes import JobScope
from ostler.store.sql import Fields, Sql

MOST_PARTS: Final = 10_000

_PARTS = Sql(
    "SELECT first_offset, size, sha256, blob_key FROM upload_parts WHERE upload_id = :id ORDER BY first_offset"
)
_PUT_PART = Sql(
    "INSERT INTO upload_parts (upload_id, first_offset, size, sha256, blob_key)"
    " VALUES (:id, :first_offset, :size, :digest, :blob_key) ON CONFLICT (upload_id, first_offset)"
    " DO UPDATE SET size = excluded.size, sha256 = excluded.sha256, blob_key = excluded.blob_key"
)
_FORGET_PARTS = Sql("DELETE FROM upload_parts WHERE upload_id [among ids]")
_NUMBER = Sql("UPDATE counters SET value = value + 1 WHERE name = :name RETURNING value")


class Part(msgspec.Struct, frozen=True):
    """Bytes that have come, and where they belong."""

    first_offset: int
    size: int
    sha256: str
    blob_key: str


class Limits(msgspec.Struct, frozen=True):
    """How many bytes one upload may have, and all that are counted of its repository together."""

    each: int
    together: int


class Pieces(msgspec.Struct, frozen=True):
    """What an upload consists of; one that was finished has a digest and no parts."""

    parts: tuple[Part, ...]
    finished: str = ""


def next_number(connection: Connection, name: str) -> int:
    """Return a number that is higher than all before."""
    row = _NUMBER.row(connection, name=name)
    return row[0] if row else 0


class UploadTable:
    """The uploads of one table; ``counted`` says which of a repository's rows use up its room."""

    def __init__(self, table: str, *, counted: str) -> None:
        self.name: Final = table
        self._find = Sql(
            f"SELECT state, target_id, size, sha256 FROM {table}"
            " WHERE id = :id AND job_id = :job_id AND fence = :fence [lock]"
        )
        self._used = Sql(
            f"SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM {table} WHERE target_id = :target_id AND {counted}"
        )
        self._grow = Sql(
            f"UPDATE {table} SET size = (SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM upload_parts"
            " WHERE upload_id = :id) WHERE id = :id"
        )
        self._finish = Sql(
            f"UPDATE {table} SET state = 'ready', size = :size, sha256 = :digest, blob_key = :blob_key WHERE id = :id"
        )
        self._end = Sql(f"UPDATE {table} SET state = 'gone' WHERE id = :id AND state <> 'gone'")
        self._abandoned = Sql(
            f"UPDATE {table} SET state = 'gone' WHERE id [picked]SELECT u.id FROM {table} u"
            " WHERE u.state = 'uploading' AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.job_id = u.job_id"
            " AND a.fence = u.fence AND a.held = 1) ORDER BY u.id LIMIT :most[/picked]"
        )
        self._gone = Sql(f"SELECT id FROM {table} WHERE state = 'gone' ORDER BY id LIMIT :most")
        self._forget = Sql(f"DELETE FROM {table} WHERE id [among ids] AND state = 'gone'")

    def used(self, connection: Connection, target_id: str) -> int:
        """Return how many bytes of a repository are counted."""
        row = self._used.row(connection, target_id=target_id)
        return row[0] if row else 0

    def room(
        self, connection: Connection, job: JobScope, upload_id: str, first_offset: int, limits: Limits
    ) -> int | Refused:
        """Return how many bytes may be put at an offset."""
        row = self._open(connection, job, upload_id)
        if isinstance(row, Refused):
            return row
        before = _parts(connection, upload_id)
        if len(before) >= MOST_PARTS:
            return Refused("quota_exceeded", f"an upload has at most {MOST_PARTS} parts")
        replaced = sum(part.size for part in before if part.first_offset == first_offset)
        size = row[2] - replaced
        left = limits.together - self.used(connection, row[1]) + replaced
        if left <= 0:
            return Refused("quota_exceeded", f"the repository keeps {limits.together} bytes of {self.name} already")
        return max(0, min(limits.each - max(first_offset, size), left))

    def add(
        self, connection: Connection, job: JobScope, upload_id: str, part: Part, limits: Limits
    ) -> tuple[str, ...] | Refused:
        """Note a part; return the blobs that it replaced."""
        room = self.room(connection, job, upload_id, part.first_offset, limits)
        if isinstance(room, Refused):
            return room
        if part.size > room:
            return Refused("quota_exceeded", f"{room} bytes have room at {part.first_offset}")
        before = _parts(connection, upload_id)
        _PUT_PART.run(
            connection,
            id=upload_id,
            first_offset=part.first_offset,
            size=part.size,
            digest=part.sha256,
            blob_key=part.blob_key,
        )
        self._grow.run(connection, id=upload_id)
        return tuple(each.blob_key for each in before if each.first_offset == part.first_offset)

    def pieces(self, connection: Connection, job: JobScope, upload_id: str) -> Pieces | Refused:
        """Return what is there to be finished."""
        row = self._row(connection, job, upload_id)
        if isinstance(row, Refused):
            return row
        if row[0] == UploadState.READY.value:
            return Pieces((), row[3])
        if row[0] == UploadState.GONE.value:
            return _ended()
        return Pieces(tuple(_parts(connection, upload_id)))

    def finish(
        self, connection: Connection, job: JobScope, upload_id: str, whole: Part, seen: tuple[Part, ...]
    ) -> Refused | None:
        """Make an upload readable, if it still consists of the parts that were seen."""
        row = self._open(connection, job, upload_id)
        if isinstance(row, Refused):
            return row
        if tuple(_parts(connection, upload_id)) != seen:
            return Refused("upload_incomplete", "bytes were put while the upload was being finished")
        self._finish.run(connection, id=upload_id, size=whole.size, digest=whole.sha256, blob_key=whole.blob_key)
        _FORGET_PARTS.run(connection, ids=(upload_id,))
        return None

    def end(self, connection: Connection, upload_id: str) -> bool:
        """Take something away from its readers; return whether it was there."""
        return bool(self._end.run(connection, id=upload_id))

    def abandon(self, connection: Connection, limit: int) -> int:
        """Give up uploads whose attempt has ended; return how many."""
        return self._abandoned.run(connection, most=limit)

    def gone(self, connection: Connection, limit: int) -> list[str]:
        """Return what is to be deleted: its blobs first, then `forget` it."""
        return [row[0] for row in self._gone.rows(connection, most=limit)]

    def forget(self, connection: Connection, ids: list[str]) -> None:
        """Delete rows whose blobs are deleted."""
        self._forget.run(connection, ids=ids)
        _FORGET_PARTS.run(connection, ids=ids)

    def _open(self, connection: Connection, job: JobScope, upload_id: str) -> Fields | Refused:
        row = self._row(connection, job, upload_id)
        if isinstance(row, Refused) or row[0] == UploadState.UPLOADING.value:
            return row
        return _ended()

    def _row(self, connection: Connection, job: JobScope, upload_id: str) -> Fields | Refused:
        if job_scopes.locked(connection, job.job_id, job.fence) is None:
            return over()
        row = self._find.row(connection, id=upload_id, job_id=job.job_id, fence=job.fence)
        return Refused("not_found", f"this job has no upload {upload_id!r}") if row is None else row


def over() -> Refused:
    """Say to an attempt that it is no more."""
    return Refused("unauthenticated", "the attempt has ended")


def _ended() -> Refused:
    return Refused("upload_ended", "the upload was finished or given up")


def _parts(connection: Connection, upload_id: str) -> list[Part]:
    return [Part(*row) for row in _PARTS.rows(connection, id=upload_id)]
