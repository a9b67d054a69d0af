"""Uploads and downloads on the real stores of blobs, a folder and S3, and how little of them is ever in memory."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path

import pytest
from starlette.types import Message

from ostler.blobs import Blobs, open_blobs
from ostler.store.inline import InlineDatabase
from ostler.testing.asgi import Lifespan
from tests.contract.server.asgi_client import scope_of
from tests.contract.server.installation import Installation
from tests.contract.server.storing import Job, job_of
from tests.parts.s3 import S3Server

MEBIBYTE = 1024 * 1024
ROOM = 64 * MEBIBYTE
"""What may be in memory of an upload: S3 holds a few parts of eight MiB on their way."""

Opener = Callable[[], Blobs]


@pytest.fixture(params=["folder", "s3"])
def stored_in(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    if request.param == "s3":
        server: S3Server = request.getfixturevalue("s3_server")
        url = server.new_blobs_url()
    else:
        url = f"file://{tmp_path}/blobs"
    return lambda: open_blobs(url)


def test_what_was_uploaded_is_downloaded_and_deleted(stored_in: Opener) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner()
        job = await job_of(installation, runner, repository="shop")
        content = bytes(range(256)) * 20_000
        artifact_id = await job.begin()
        for start in (3_000_000, 0, 1_000_000):
            stop = {0: 1_000_000, 1_000_000: 3_000_000}.get(start, len(content))
            assert (await job.put(artifact_id, content[start:stop], offset=start)).status == 200
        assert (await job.finish(artifact_id, content)).status == 200
        assert (await job.read(artifact_id)).body == content
        part = await job.read(artifact_id, headers={"range": "bytes=1048570-2097160"})
        assert part.body == content[1_048_570:2_097_161]
        entry = await job.fill("npm", content)
        assert (await job.read(entry, "caches")).body == content
        assert len(await installation.blob_keys("artifacts") + await installation.blob_keys("caches")) == 2
        person = await installation.user()
        assert (await person.post(f"/api/v1/artifacts/{artifact_id}", b"", "DELETE")).status == 204
        assert (await person.post(f"/api/v1/caches/{entry}", b"", "DELETE")).status == 204
        await installation.upkeep.keep()
        assert await installation.blob_keys("artifacts") + await installation.blob_keys("caches") == []

    played(stored_in, scene)


def test_a_large_artifact_is_never_in_memory(stored_in: Opener) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner())
        artifact_id = await job.begin()
        piece, pieces = os.urandom(MEBIBYTE // 4), 800
        digest = hashlib.sha256()
        for _ in range(pieces):
            digest.update(piece)
        size, whole = len(piece) * pieces, f"sha256:{digest.hexdigest()}"
        before, highest = resident_bytes(), 0

        async def sent() -> AsyncIterator[bytes]:
            nonlocal highest
            for _ in range(pieces):
                yield piece
                highest = max(highest, resident_bytes())

        target = f"/job/v1/artifacts/{artifact_id}/content"
        assert await exchanged(installation, job, "PUT", target, sent()) == (200, 0)
        finished = await job.post(f"/job/v1/artifacts/{artifact_id}/finish", {"size": size, "digest": whole})
        assert finished.status == 200, finished.body
        assert await exchanged(installation, job, "GET", target, None) == (200, size)
        highest = max(highest, resident_bytes())
        assert highest - before < ROOM

    played(stored_in, scene)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def exchanged(
    installation: Installation, job: Job, method: str, target: str, body: AsyncIterator[bytes] | None
) -> tuple[int, int]:
    """The status of the reply to a request whose body is made as it is read, and the size of a streamed reply."""
    status = size = 0

    async def receive() -> Message:
        if body is not None:
            async for piece in body:
                return {"type": "http.request", "body": piece, "more_body": True}
            return {"type": "http.request", "body": b"", "more_body": False}
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status, size
        if message["type"] == "http.response.start":
            status = message["status"]
        elif method == "GET":
            size += len(message.get("body", b""))

    await installation.control.application(scope_of(method, target, job.headers), receive, send)
    return status, size


def played(stored_in: Opener, scene: Callable[[Installation], Coroutine[None, None, None]]) -> None:
    async def whole() -> None:
        database, blobs = InlineDatabase(), stored_in()
        installation = Installation(database, blobs)
        lifespan = Lifespan(installation.control.application)
        await lifespan.startup()
        try:
            async with asyncio.timeout(60):
                await scene(installation)
        finally:
            await lifespan.shutdown()
            await blobs.aclose()
            await database.close()

    asyncio.run(whole())
