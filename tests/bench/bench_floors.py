"""The floors themselves, as rows: whoever reads a ratio wants to see what it was a ratio to."""

from typing import get_args

from tests.bench import floors
from tests.bench.context import Context
from tests.bench.figure import Figure, absolute
from tests.bench.http_load import Loop
from tests.parts.errors import PartMissing

GOALS = ("floor",)


async def measure(context: Context) -> list[Figure]:
    await floors.fdatasync(context)
    await floors.sqlite_commits(context)
    for at_once in (1, 4):
        await floors.bash_spawns(context, at_once=at_once)
    for level in (1, 3):
        await floors.zstd_compression(context, level=level)
    await floors.zstd_decompression(context)
    for loop in get_args(Loop):
        await floors.plain_http(context, loop=loop)
    try:
        await floors.pgbench(context)
    except PartMissing as missing:
        print(f"floor left out: {missing}")
    return [absolute("floor", floor.name, floor.sample, floor.unit) for floor in context.floors()]
