"""Logs on their whole way: through the pipeline of the agent, into the server, out to followers and readers."""

import asyncio
import time
from typing import Any

from ostler.logs.writer import LogWriter
from tests.bench import floors, logs_pipeline
from tests.bench.context import Context
from tests.bench.figure import Figure, Floor, Sample, absolute, compared
from tests.bench.http_load import cpu_seconds
from tests.bench.peer import Stream
from tests.bench.served import NOOP, Runner, Server, join, serving, until

GOALS = ("4.1", "4.2", "4.3", "4.5")

_MIB = 1024 * 1024
_FOLLOWERS = 100
_GOALS_OF_PIPELINE = {"4.1": (0.65, None), "4.5": (None, 1.1)}


async def measure(context: Context) -> list[Figure]:
    lines = context.scaled(1_000_000, quick=20_000)
    line = b"2026-10-18T12:00:00 [INFO] step %07d of the build says " + b"." * 44 + b"\n"
    output = b"".join(line % number for number in range(lines))
    figures = [] if context.quick else _pipeline()
    with serving(context.directory()) as server:
        figures += await _ingest(context, server, output)
        figures += await _reading(server, output, lines)
    return figures


def _pipeline() -> list[Figure]:
    """The rows of the pipeline's own program that a goal is stated for."""
    figures: list[Figure] = []
    for row in logs_pipeline.measure():
        if not row.goal or row.goal_id not in _GOALS_OF_PIPELINE:
            continue
        least, most = _GOALS_OF_PIPELINE[row.goal_id]
        floor = Floor("zstd alone", "", Sample(row.floor, 0))
        figures.append(compared(row.goal_id, row.name, row.measured, "", floor, at_least=least, at_most=most))
    return figures


async def _ingest(context: Context, server: Server, output: bytes) -> list[Figure]:
    text = output[: 64 * _MIB]
    alone, _ = await _append(server, text, 0)
    part = text[: context.scaled(16 * _MIB, quick=_MIB)]
    spent, heard = await _append(server, part, _FOLLOWERS)
    floor = await floors.zstd_decompression(context)
    rate, fan_out = len(text) / _MIB / alone, heard / _MIB / spent
    ingest = Floor("ingest alone", "MiB/cpu-s", Sample(rate, 0))
    return [
        compared("4.2", "append and index chunks of 1 MiB", rate, "MiB/cpu-s", floor, at_least=0.5),
        compared("4.2", f"fan-out to {_FOLLOWERS} followers", fan_out, "MiB/cpu-s", ingest, at_least=9),
    ]


async def _append(server: Server, text: bytes, followers: int) -> tuple[float, int]:
    """Write a log; the server's CPU time and how much followers heard."""
    runner, claim = await _working(server)
    done = 0

    def heard(data: bytes, now: float) -> None:
        nonlocal done
        del now
        done += b"event: end" in data

    path = f"/api/v1/jobs/{claim['job_id']}/log/follow"
    streams = [await Stream.opened(server.port, path, server.token, heard) for _ in range(followers)]
    chunks = _chunks(text)
    before = cpu_seconds(server.process.pid)
    await _ship(runner, claim, chunks)
    await runner.finish(claim, log_bytes=len(text))

    async def ended() -> bool:
        await asyncio.sleep(0)
        return done >= followers

    await until(ended, 120, 0.05)
    received = sum(stream.received for stream in streams)
    for stream in streams:
        stream.close()
    return cpu_seconds(server.process.pid) - before, received


async def _working(server: Server) -> tuple[Runner, dict[str, Any]]:
    person = await server.person()
    runner = (await join(server, 1))[0]
    await person.call("POST", "/api/v1/runs", {"spec": NOOP})
    person.close()
    return runner, await runner.work()


def _chunks(text: bytes) -> list[tuple[int, bytes]]:
    """Frames as an agent makes them, a mebibyte of text in each request."""
    writer = LogWriter()
    chunks: list[tuple[int, bytes]] = []
    for start in range(0, len(text), _MIB):
        frames = writer.write(text[start : start + _MIB], start, 1) + writer.flush()
        chunks.append((start, frames))
    return chunks


async def _ship(runner: Runner, claim: dict[str, Any], chunks: list[tuple[int, bytes]]) -> None:
    for offset, frames in chunks:
        target = f"/agent/v1/jobs/{claim['job_id']}/log?fence={claim['fence']}&offset={offset}"
        await runner.peer.call("POST", target, frames)


async def _reading(server: Server, output: bytes, lines: int) -> list[Figure]:
    runner, claim = await _working(server)
    await _ship(runner, claim, _chunks(output))
    await runner.finish(claim, log_bytes=len(output))
    person = await server.person()
    base = f"/api/v1/jobs/{claim['job_id']}/log"
    opened: list[float] = []
    for first in (1, lines // 3, lines - 2000):
        start = time.perf_counter()
        reply = await person.call("GET", f"{base}?from_line={first}&lines=500")
        opened.append((time.perf_counter() - start) * 1000)
        if len(reply["lines"]) != 500:
            raise ValueError("lines are missing")
    first = await _heard(server, f"{base}/search?q=INFO", b'"line"')
    whole = await _heard(server, f"{base}/search?q=nowhere", b'"done"')
    return [
        absolute("4.3", f"open {lines:,} lines at line N, worst of 3", max(opened), "ms", at_most=100),
        absolute("4.3", "search, first hits", first * 1000, "ms", at_most=150),
        absolute("4.3", "search, all of it", whole, "s", at_most=1.2),
    ]


async def _heard(server: Server, path: str, mark: bytes) -> float:
    """How long it takes until a stream says this."""
    said = asyncio.Event()

    def note(data: bytes, now: float) -> None:
        del now
        if mark in data:
            said.set()

    start = time.perf_counter()
    stream = await Stream.opened(server.port, path, server.token, note)
    await said.wait()
    stream.close()
    return time.perf_counter() - start
