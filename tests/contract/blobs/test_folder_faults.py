"""What an operator meets with a folder: crashes, a full or broken disk, a path that is no folder."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.blobs import Blobs, open_blobs
from ostler.blobs.errors import BlobMissing, BlobStoreFull, BlobStoreUnavailable, BlobTooLarge
from tests.contract.blobs.streams import MEBIBYTE, chunked, pattern

pytestmark = pytest.mark.anyio

WRITER = """
import asyncio, sys
from ostler.blobs import open_blobs

async def endless():
    yield b"x" * 3_000_000
    print("writing", flush=True)
    await asyncio.Event().wait()

asyncio.run(open_blobs(sys.argv[1]).put_stream("artifacts/run_1/a", endless(), at_most=10**9))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def blobs(root: Path) -> Blobs:
    return open_blobs(f"file://{root}")


@pytest.fixture
def small_files_only() -> Iterator[None]:
    """No file of this process may grow beyond a mebibyte: the nearest thing to a full disk that needs no mount."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEBIBYTE, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def kill_a_writer(url: str) -> None:
    """Let another process begin a blob, and kill it in the middle."""
    with subprocess.Popen([sys.executable, "-c", WRITER, url], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        writer.send_signal(signal.SIGKILL)


def everything_in(root: Path) -> list[Path]:
    return list(root.rglob("*"))


def incoming(root: Path) -> list[Path]:
    return list((root / "incoming").iterdir())


async def test_nothing_is_left_of_writes_that_failed(blobs: Blobs, root: Path) -> None:
    with pytest.raises(BlobTooLarge):
        await blobs.put_stream("a/b", chunked(pattern(3 * MEBIBYTE), 1000), at_most=2 * MEBIBYTE)
    await blobs.put("a/b", b"data", if_absent=True)
    assert incoming(root) == []


async def test_a_writer_that_was_killed_leaves_no_blob(blobs: Blobs, root: Path) -> None:
    kill_a_writer(f"file://{root}")
    with pytest.raises(BlobMissing):
        await blobs.head("artifacts/run_1/a")
    assert [page async for page in blobs.list()] == []

    (remains,) = incoming(root)
    await blobs.check(write=True)
    assert remains.exists()  # It might belong to a live process.
    os.utime(remains, (0, 0))
    await blobs.check(write=True)
    assert incoming(root) == []


@pytest.mark.usefixtures("small_files_only")
async def test_a_full_disk_is_named_and_leaves_the_key_as_it_was(blobs: Blobs, root: Path) -> None:
    await blobs.put("a/b", b"former")
    with pytest.raises(BlobStoreFull):
        await blobs.put("a/b", pattern(2 * MEBIBYTE))
    with pytest.raises(BlobStoreFull):
        await blobs.put_stream("a/b", chunked(pattern(3 * MEBIBYTE), 100_000), at_most=10 * MEBIBYTE)
    assert await blobs.get("a/b") == b"former"
    assert incoming(root) == []


async def test_a_path_that_is_no_folder_is_named(tmp_path: Path) -> None:
    root = tmp_path / "file"
    Path.touch(root)
    blobs = open_blobs(f"file://{root}")
    with pytest.raises(BlobStoreUnavailable, match=str(root)):
        await blobs.put("a/b", b"data")
    with pytest.raises(BlobStoreUnavailable, match=str(root)):
        await blobs.check()


async def test_what_it_holds_is_for_its_owner_only(blobs: Blobs, root: Path) -> None:
    await blobs.put("states/ws_1", b"secret")
    for path in everything_in(root):
        assert path.stat().st_mode & 0o077 == 0, path


async def test_a_link_in_the_place_of_a_blob_is_not_followed(blobs: Blobs, root: Path, tmp_path: Path) -> None:
    await blobs.put("states/ws_1", b"data")
    (place,) = [path for path in everything_in(root) if path.name == "states,ws_1"]
    outside = tmp_path / "outside"
    outside.write_bytes(b"not yours")
    place.unlink()
    place.symlink_to(outside)
    with pytest.raises(BlobStoreUnavailable):
        await blobs.get("states/ws_1")
    await blobs.put("states/ws_1", b"data")
    assert outside.read_bytes() == b"not yours"
    assert await blobs.get("states/ws_1") == b"data"
