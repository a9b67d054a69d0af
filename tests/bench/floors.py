"""The floors that goals are multiples of: what the disk, databases, shell, compressor and loop do without us.

Each takes the run's context and returns the same floor however often it is asked for. They are written as the fastest
plain way to do the thing, because a slow floor would flatter us.
"""

import asyncio
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol, cast

import asyncpg

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from tests.bench.context import Context, async_rate, cpu_rate, rate
from tests.bench.corpus import log_text
from tests.bench.figure import Floor
from tests.bench.http_load import Loop, plain_requests_per_cpu_second
from tests.parts.postgres import PostgresCluster

MEBIBYTE = 1024 * 1024
_PGBENCH_CLIENTS = 16
_PGBENCH_SCALE = 10
_TPS = re.compile(r"tps = ([0-9.]+) \(without initial connection time\)|tps = ([0-9.]+)")


async def fdatasync(context: Context) -> Floor:
    """Appends of 4 KiB, each on disk before the next begins."""

    def measure() -> float:
        descriptor = os.open(context.directory() / "file", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        block = b"x" * 4096

        def append() -> None:
            os.write(descriptor, block)
            os.fdatasync(descriptor)

        try:
            return rate(context.seconds, append)
        finally:
            os.close(descriptor)

    return await context.floor("fdatasync of 4 KiB appends", "/s", measure)


async def sqlite_commits(context: Context) -> Floor:
    """One-row transactions in SQLite, WAL, synchronous=FULL: what one committed write at a time can reach."""

    def measure() -> float:
        connection = sqlite3.connect(context.directory() / "database", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT)")
        try:
            return rate(context.seconds, lambda: connection.execute("INSERT INTO job (state) VALUES (?)", ("waiting",)))
        finally:
            connection.close()

    return await context.floor("SQLite one-row commits, synchronous=FULL", "/s", measure)


async def pgbench(context: Context) -> Floor:
    """`pgbench -N` at 16 clients on a cluster that syncs, or the same transaction from asyncpg, and it says which."""
    cluster = context.postgres()
    program = _find_pgbench(cluster)
    if program is None:
        return await context.floor(
            "asyncpg loop of pgbench -N's transaction, 16 clients", "/s", lambda: _asyncpg_loop(context, cluster)
        )
    database = f"-h {cluster.socket_directory} -p {cluster.port} -U postgres postgres".split()
    initialised: list[bool] = []

    def measure() -> float:
        if not initialised:
            initialise = [str(program), "-i", "-q", "-s", str(_PGBENCH_SCALE)]
            subprocess.run([*initialise, *database], capture_output=True, check=True)
            initialised.append(True)
        command = [str(program), "-N", "-n", "-c", str(_PGBENCH_CLIENTS), "-j", "2"]
        command += ["-T", str(max(1, round(context.seconds * 2)))]
        answer = subprocess.run([*command, *database], capture_output=True, text=True, check=True)
        match = _TPS.search(answer.stdout)
        if match is None:
            raise ValueError(f"pgbench said something unknown: {answer.stdout}")
        return float(match.group(1) or match.group(2))

    return await context.floor("pgbench -N, 16 clients", "/s", measure)


async def bash_spawns(context: Context, *, at_once: int = 1) -> Floor:
    """Starting `bash -c :` and waiting for its end, in so many threads; the cores are shared with nothing else."""

    def spawn() -> None:
        subprocess.Popen(["bash", "-c", ":"]).wait()

    def measure() -> float:
        with ThreadPoolExecutor(at_once) as threads:
            rates = [threads.submit(rate, context.seconds, spawn) for _ in range(at_once)]
            return sum(future.result() for future in rates)

    return await context.floor(f"bare bash spawns, {at_once} at once", "/s", measure)


async def zstd_compression(context: Context, *, level: int = 1) -> Floor:
    """Compressing log text, in pieces of 1 MiB, per second of CPU time."""
    text = log_text(8 * MEBIBYTE)
    pieces = [text[start : start + MEBIBYTE] for start in range(0, len(text), MEBIBYTE)]

    def compress() -> None:
        for piece in pieces:
            zstd.compress(piece, level=level)

    return await context.floor(
        f"zstd -{level} of log text", "MiB/cpu-s", lambda: cpu_rate(context.seconds, compress, each=len(pieces))
    )


async def zstd_decompression(context: Context) -> Floor:
    """Decompressing the same text, per second of CPU time."""
    text = log_text(8 * MEBIBYTE)
    pieces = [zstd.compress(text[start : start + MEBIBYTE], level=1) for start in range(0, len(text), MEBIBYTE)]

    def decompress() -> None:
        for piece in pieces:
            zstd.decompress(piece)

    return await context.floor(
        "zstd decompression of log text", "MiB/cpu-s", lambda: cpu_rate(context.seconds, decompress, each=len(pieces))
    )


async def plain_http(context: Context, *, loop: Loop = "uvloop") -> Floor:
    """A hand-written asyncio.Protocol server that answers small posts, per second of its CPU time."""
    return await context.floor(
        f"hand-written asyncio.Protocol server on {loop}",
        "/cpu-s",
        lambda: plain_requests_per_cpu_second(context.seconds, loop),
    )


def _find_pgbench(cluster: PostgresCluster) -> Path | None:
    beside = cluster.programs / "pgbench"
    if beside.exists():
        return beside
    on_path = shutil.which("pgbench")
    return Path(on_path) if on_path else None


class _Session(Protocol):
    """The part of an asyncpg connection that is used here; the library does not state its types."""

    async def execute(self, query: str, *values: object) -> str: ...
    async def close(self) -> None: ...


async def _asyncpg_loop(context: Context, cluster: PostgresCluster) -> float:
    connect = cast("Callable[[str], Awaitable[_Session]]", asyncpg.connect)  # pyright: ignore[reportUnknownMemberType]
    url = cluster.create_database()
    accounts = _PGBENCH_SCALE * 100_000
    sessions = [await connect(url) for _ in range(_PGBENCH_CLIENTS)]
    await sessions[0].execute(
        "CREATE TABLE accounts (aid int PRIMARY KEY, balance int, filler char(84));"
        "CREATE TABLE history (aid int, delta int, mtime timestamp);"
        f"INSERT INTO accounts SELECT number, 0, '' FROM generate_series(1, {accounts}) number;"
    )

    async def client(number: int) -> float:
        aid = number * 7919

        async def transaction() -> None:
            nonlocal aid
            aid = (aid * 48_271 + 11) % accounts + 1
            session = sessions[number]
            await session.execute("BEGIN")
            await session.execute("UPDATE accounts SET balance = balance + 1 WHERE aid = $1", aid)
            await session.execute("SELECT balance FROM accounts WHERE aid = $1", aid)
            await session.execute("INSERT INTO history VALUES ($1, 1, CURRENT_TIMESTAMP)", aid)
            await session.execute("END")

        return await async_rate(context.seconds, transaction)

    rates = await asyncio.gather(*(client(number) for number in range(_PGBENCH_CLIENTS)))
    for session in sessions:
        await session.close()
    return sum(rates)
