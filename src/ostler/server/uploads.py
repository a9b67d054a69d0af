"""Bytes of artifacts and caches on their way into the blob store: whatever their size, a few chunks are in memory.

A part is stored as a blob of its own under a key that is never used again, and noted afterwards. An upload of one part
is finished where it lies; several are joined into one blob, so that every artifact and every entry is one.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection

from ostler.blobs import Blobs
from ostler.blobs.errors import BlobTooLarge
from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.protocol.problem import problem
from ostler.protocol.v1.artifact_messages import FinishUploadRequest, PartReply
from ostler.server.call import Refusal, accepted
from ostler.store.database import Database
from ostler.store.job_scopes import JobScope
from ostler.store.uploads import Limits, Part, UploadTable

T = TypeVar("T")


class Upload(NamedTuple):
    """What is uploaded, by whom, and how much it may be."""

    table: UploadTable
    id: str
    job: JobScope
    limits: Limits


class Uploads:
    """See the module."""

    def __init__(self, database: Database, blobs: Blobs, effects: Effects) -> None:
        self._database = database
        self._blobs = blobs
        self._effects = effects

    async def receive(self, upload: Upload, offset: int, chunks: AsyncIterable[bytes]) -> PartReply:
        """Store what comes as the part at this offset."""
        table, limits = upload.table, upload.limits
        room = accepted(await self._database.run(table.room, upload.job, upload.id, offset, limits))
        key = f"{table.name}/{upload.id}/{self._effects.ids.new('part')}"
        try:
            stored = await self._blobs.put_stream(key, chunks, at_most=room)
        except BlobTooLarge as error:
            raise Refusal(problem("quota_exceeded", f"{room} bytes have room at {offset}")) from error
        part = Part(offset, stored.size, stored.sha256, key)
        outcome = await self._database.run(table.add, upload.job, upload.id, part, limits)
        for scrap in (key,) if isinstance(outcome, Refused) else outcome:
            await self._blobs.delete(scrap)
        accepted(outcome)
        return PartReply(offset, stored.size, f"sha256:{stored.sha256}")

    async def finish(
        self, upload: Upload, request: FinishUploadRequest, then: Callable[[Connection], T | Refused]
    ) -> T:
        """Make an upload readable if it is what was announced, and do ``then`` in the same transaction."""
        pieces = accepted(await self._database.run(upload.table.pieces, upload.job, upload.id))
        if pieces.finished:
            if f"sha256:{pieces.finished}" != request.digest:
                raise Refusal(problem("upload_ended", "the upload was finished with other bytes"))
            return accepted(await self._database.run(then))
        parts = pieces.parts
        _check_complete(parts, request.size)
        whole = parts[0] if len(parts) == 1 else await self._joined(upload, parts)
        outcome: T | Refused
        if f"sha256:{whole.sha256}" == request.digest:
            outcome = await self._database.run(_conclude, upload, whole, parts, then)
        else:
            outcome = Refused("digest_mismatch", f"the bytes that came have sha256:{whole.sha256}")
        if len(parts) != 1:
            scraps = [whole] if isinstance(outcome, Refused) else parts
            for scrap in scraps:
                await self._blobs.delete(scrap.blob_key)
        return accepted(outcome)

    async def _joined(self, upload: Upload, parts: Sequence[Part]) -> Part:
        key = f"{upload.table.name}/{upload.id}/{self._effects.ids.new('whole')}"
        size = sum(part.size for part in parts)
        stored = await self._blobs.put_stream(key, self._read(parts), at_most=size)
        return Part(0, stored.size, stored.sha256, key)

    async def _read(self, parts: Sequence[Part]) -> AsyncGenerator[bytes]:
        for part in parts:
            async with aclosing(self._blobs.get_stream(part.blob_key)) as chunks:
                async for chunk in chunks:
                    yield chunk


def _conclude(
    connection: Connection,
    upload: Upload,
    whole: Part,
    parts: tuple[Part, ...],
    then: Callable[[Connection], T | Refused],
) -> T | Refused:
    refused = upload.table.finish(connection, upload.job, upload.id, whole, parts)
    return then(connection) if refused is None else refused


def _check_complete(parts: Sequence[Part], size: int) -> None:
    reached = 0
    for part in parts:
        if part.first_offset != reached:
            break
        reached += part.size
    else:
        if reached == size:
            return
        if reached > size:
            raise Refusal(problem("digest_mismatch", f"{reached} bytes came, {size} were announced"))
    raise Refusal(problem("upload_incomplete", f"what was put ends at {reached} of {size} bytes", expected=reached))
