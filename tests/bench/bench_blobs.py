"""Storing and reading blobs: no goal of its own, but every sealed log segment and every read of a log passes here."""

from collections.abc import AsyncIterator
from itertools import count

from ostler.blobs import Blobs, open_blobs
from tests.bench import floors
from tests.bench.context import Context, async_rate, durations, percentile
from tests.bench.corpus import log_text
from tests.bench.figure import Figure, Sample, absolute, compared
from tests.parts.errors import PartMissing

GOALS = ("blobs",)

_SEGMENT_BYTES = 512 * 1024  # What is left of 4 MiB of log text.
_READ_BYTES = 64 * 1024
_MEBIBYTE = 1024 * 1024


async def measure(context: Context) -> list[Figure]:
    figures = await _figures(context, "folder", open_blobs(f"file://{context.directory()}/blobs"))
    try:
        server = context.s3()
    except PartMissing as missing:
        print(f"S3 left out: {missing}")
        return figures
    return figures + await _figures(context, "S3", open_blobs(server.new_blobs_url()))


async def _figures(context: Context, store: str, blobs: Blobs) -> list[Figure]:
    segment = log_text(_SEGMENT_BYTES)
    numbers = count()
    await blobs.put("logs/job_1/read", segment)

    async def put() -> None:
        await blobs.put(f"logs/job_1/{next(numbers)}", segment)

    async def read() -> None:
        await blobs.get_range("logs/job_1/read", 100_000, _READ_BYTES)

    async def upload() -> None:
        await blobs.put_stream("artifacts/run_1/a", _stream(32 * _MEBIBYTE), at_most=32 * _MEBIBYTE)

    async def download() -> None:
        async for _ in blobs.get_stream("artifacts/run_1/a"):
            pass

    puts = await context.repeat(lambda: async_rate(context.seconds, put))
    reads = await durations(context.scaled(2000, quick=200), read)
    uploads = await context.repeat(lambda: async_rate(context.seconds, upload, each=32))
    downloads = await context.repeat(lambda: async_rate(context.seconds, download, each=32))
    return [
        _puts(store, puts, await floors.fdatasync(context)),
        absolute("blobs", f"{store}: read 64 KiB of a segment, p50", percentile(reads, 50), "ms"),
        absolute("blobs", f"{store}: read 64 KiB of a segment, p99", percentile(reads, 99), "ms"),
        absolute("blobs", f"{store}: upload stream of 32 MiB, hashed", uploads, "MiB/s"),
        absolute("blobs", f"{store}: download stream of 32 MiB", downloads, "MiB/s"),
    ]


def _puts(store: str, puts: Sample, floor: floors.Floor) -> Figure:
    return compared("blobs", f"{store}: durable puts of 512 KiB, one by one", puts, "/s", floor)


async def _stream(size: int) -> AsyncIterator[bytes]:
    text = log_text(_MEBIBYTE)
    for _ in range(size // _MEBIBYTE):
        yield text
