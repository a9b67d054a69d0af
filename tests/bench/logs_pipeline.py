"""Measures the way of output through the agent and back to a reader (goals 4.1, 4.3 and 4.5).

Each figure is taken beside its floor, the plain library call that does the unavoidable part of the work, in the same
process and in turns, because absolute times move with the machine.

    python -m tests.bench.logs_pipeline
"""

from __future__ import annotations

import fcntl
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, NamedTuple

from ostler.logs.caps import LogCap
from ostler.logs.compaction import compact
from ostler.logs.compression import Compressor, zstd
from ostler.logs.frame import decode_all
from ostler.logs.index import SegmentIndex
from ostler.logs.masker import Masker
from ostler.logs.reader import read_lines
from ostler.logs.search import Search
from ostler.logs.writer import LogWriter

if TYPE_CHECKING:
    from collections.abc import Callable

LINES = 1_000_000
BLOCK = 200_000
"""Lines until the output repeats itself: much further than zstd -3 looks back."""

CHUNK = 256 << 10
SEGMENT = 4 << 20
ROUNDS = 5
MIB = 1 << 20


class Row(NamedTuple):
    """One measurement: `measured` and `floor` are in the same unit, which the name tells."""

    goal_id: str
    name: str
    measured: float
    floor: float
    ratio: float
    goal: str


def made_output(lines: int = LINES) -> bytes:
    """Build-like lines of 100 bytes: words, numbers, paths, hashes."""
    dice = random.Random(7)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(dice.choices(letters, k=dice.randint(2, 9))) for _ in range(800)]
    made: list[str] = []
    for number in range(BLOCK):
        line = f"2026-10-18T12:{number % 60:02}:{number % 59:02}.{dice.randint(0, 999):03}Z [INFO] "
        line += f"/src/{dice.choice(words)}/{dice.choice(words)}.py:{dice.randint(1, 999)} {dice.randbytes(4).hex()} "
        while len(line) < 100:
            line += dice.choice(words) + " "
        made.append(line[:99] + "\n")
    block = "".join(made).encode()
    return b"".join(block.replace(b"12:", b"%02d:" % (turn % 24)) for turn in range(lines // BLOCK))


def made_secrets(count: int = 20) -> list[bytes]:
    """Passwords, tokens, keys and phrases of usual lengths."""
    dice = random.Random(11)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    signs = letters + "!@#$%^&*()'\"<>/+="
    kinds: list[Callable[[], str]] = [
        lambda: "".join(dice.choices(letters, k=40)),
        lambda: "ghp_" + "".join(dice.choices(letters, k=36)),
        lambda: "".join(dice.choices(signs, k=24)),
        lambda: dice.randbytes(16).hex(),
        lambda: "pass " + "".join(dice.choices(letters, k=10)),
    ]
    return [kinds[number % len(kinds)]().encode() for number in range(count)]


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    work()
    return clock() - start


def in_turns(
    *works: Callable[[], object], rounds: int = ROUNDS, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """The best time of each, measured in turns, so that a slow moment of the machine meets all of them."""
    turns = [[seconds(work, clock) for work in works] for _ in range(rounds)]
    return [min(times) for times in zip(*turns, strict=True)]


def pump(reader: int, masker: Masker, writer: LogWriter, spool: int) -> None:
    """What a supervisor does: pipe, mask, cap, stamp, compress, spool."""
    cap = LogCap(1 << 40, MIB)
    for tick in itertools.count():
        chunk = os.read(reader, CHUNK)
        if not chunk:
            break
        frames = writer.write(cap.feed(masker.feed(chunk), tick, 1), tick * 1000, 1)
        if frames:
            os.write(spool, frames)
    os.write(spool, writer.write(masker.finish(), 0, 1) + writer.flush())


def through_a_pipe(path: str, masker: Masker) -> None:
    """From another process, as a job is one: a thread here would fight for the interpreter."""
    with tempfile.TemporaryFile() as spool, subprocess.Popen(["cat", path], stdout=subprocess.PIPE, bufsize=0) as job:
        if job.stdout is None:
            raise AssertionError("the job has a pipe")
        if sys.platform == "linux":
            fcntl.fcntl(job.stdout, fcntl.F_SETPIPE_SZ, MIB)  # with the usual 64 KiB it is four times the calls
        pump(job.stdout.fileno(), masker, LogWriter(), spool.fileno())


def ingest(output: bytes) -> list[Row]:
    part = output[: 24 * MIB]
    chunks = [part[start : start + CHUNK] for start in range(0, len(part), CHUNK)]
    masker = Masker(made_secrets())
    masker.feed(b"")
    compressor = Compressor(1)

    def alone() -> None:
        for chunk in chunks:
            compressor.compress(chunk)

    def in_memory() -> None:
        writer = LogWriter()
        for tick, chunk in enumerate(chunks):
            writer.write(masker.feed(chunk), tick * 1000, 1)

    def only_mask() -> None:
        for chunk in chunks:
            masker.feed(chunk)

    # The goal is per core, so what counts is this thread's processor time: not the waiting, and not the job's side.
    with tempfile.NamedTemporaryFile() as file:
        file.write(part)
        file.flush()
        floor, memory, piped, masking = in_turns(
            alone, in_memory, lambda: through_a_pipe(file.name, masker), only_mask, clock=time.thread_time
        )
    size = len(part) / MIB
    goal = ">= 0.65 x zstd -1 alone"
    return [
        Row("4.1", "pipe, mask 20, stamp, compress, spool: MiB/s", size / piped, size / floor, floor / piped, goal),
        Row("4.1", "the same without pipe and file: MiB/s", size / memory, size / floor, floor / memory, ""),
        Row("4.1", "masking alone, 20 secrets: MiB/s", size / masking, size / floor, floor / masking, ""),
    ]


def masking(output: bytes) -> list[Row]:
    part = output[: 8 * MIB]
    rows: list[Row] = []
    for count in (1, 5, 20, 50, 100):
        masker = Masker(made_secrets(count))
        masker.feed(b"")
        chunks = [part[start : start + CHUNK] for start in range(0, len(part), CHUNK)]
        took, floor = in_turns(
            lambda chunks=chunks, masker=masker: [masker.feed(chunk) for chunk in chunks],
            lambda: zstd.compress(part, 1),
            rounds=3,
            clock=time.thread_time,
        )
        name = f"masking {count} secrets in {masker.form_count} forms: MiB/s"
        rows.append(Row("4.1", name, 8 / took, 8 / floor, floor / took, ""))
    return rows


def stored(output: bytes) -> tuple[list[Row], list[tuple[bytes, SegmentIndex]]]:
    """The log as the server keeps it, sealed from small live frames, and its size."""
    writer = LogWriter()
    segments: list[tuple[bytes, SegmentIndex]] = []
    sealing = 0.0
    for start in range(0, len(output), SEGMENT):
        live = b""
        for place in range(start, min(start + SEGMENT, len(output)), 16 << 10):
            live += writer.write(output[place : min(place + (16 << 10), start + SEGMENT)], place * 7, 1)
            live += writer.flush()
        began = time.thread_time()
        compacted = compact(live)
        sealing += time.thread_time() - began
        segments.append((compacted.frames, compacted.segment_index))
    size = sum(len(frames) for frames, _ in segments)
    floor = len(zstd.compress(output, 3))
    plain = seconds(lambda: zstd.compress(output, 3), time.thread_time)
    speed, plain_speed = len(output) / MIB / sealing, len(output) / MIB / plain
    return [
        Row("4.5", "size stored: MiB", size / MIB, floor / MIB, size / floor, "<= 1.1 x zstd -3 of the raw log"),
        Row("4.5", "sealing segments: MiB/s", speed, plain_speed, speed / plain_speed, ""),
    ], segments


def open_at(segments: list[tuple[bytes, SegmentIndex]], line: int) -> None:
    frames, index = next(segment for segment in reversed(segments) if segment[1].first_line <= line)
    position, length = index.find_lines(line, 1000)
    read_lines(frames[position : position + length], line, 1000)


def find(segments: list[tuple[bytes, SegmentIndex]], query: str, *, only_first: bool = False) -> int:
    search = Search(query)
    count = 0
    for frames, _ in segments:
        for frame in decode_all(frames):
            for _hit in search.feed(frame):
                count += 1
                if only_first and count == 20:
                    return count
    return count + sum(1 for _hit in search.finish())


def reading(segments: list[tuple[bytes, SegmentIndex]], output: bytes) -> list[Row]:
    whole = zstd.compress(output, 3)
    reads = [lambda line=line: open_at(segments, line) for line in (1, LINES // 3, LINES - 2000)]
    worst = max(in_turns(*reads))
    few, many, first, floor = in_turns(
        lambda: find(segments, "no such words"),
        lambda: find(segments, ".123Z"),
        lambda: find(segments, "INFO", only_first=True),
        lambda: zstd.decompress(whole),
        rounds=3,
    )
    every = seconds(lambda: find(segments, "info"))
    return [
        Row("4.3", "open 1,000,000 lines at line N: ms", worst * 1e3, floor * 1e3, worst / floor, "<= 100 ms"),
        Row("4.3", "search, first 20 hits: ms", first * 1e3, floor * 1e3, first / floor, "<= 150 ms"),
        Row("4.3", "search, about 1000 hits, all: ms", many * 1e3, floor * 1e3, many / floor, "<= 1200 ms"),
        Row("4.3", "search, no hit: ms", few * 1e3, floor * 1e3, few / floor, "<= 1200 ms"),
        Row("4.3", "search, every line a hit: ms", every * 1e3, floor * 1e3, every / floor, ""),
    ]


def supervisor_memory() -> Row:
    """Resident memory of a process that has everything of `ostler.logs` that a supervisor needs, and used it."""
    program = (
        "from ostler.logs import caps, masker, writer\n"
        "m, w = masker.Masker([b'a-secret-to-mask']), writer.LogWriter()\n"
        "w.write(m.feed(b'hello\\n'), 1, 1), w.flush()\n"
        "print([l.split()[1] for l in open('/proc/self/status') if l.startswith('VmRSS')][0])\n"
    )
    bare = "print([l.split()[1] for l in open('/proc/self/status') if l.startswith('VmRSS')][0])"
    used, floor = (
        int(subprocess.run([sys.executable, "-c", text], capture_output=True, check=True).stdout) / 1024
        for text in (program, bare)
    )
    return Row("3.4", "python with the supervisor's part of ostler.logs: MiB", used, floor, used / floor, "<= 13 MiB")


def measure() -> list[Row]:
    """All rows; about half a minute."""
    output = made_output()
    rows, segments = stored(output)
    return [*ingest(output), *masking(output), *reading(segments, output), *rows, supervisor_memory()]


if __name__ == "__main__":
    for row in measure():
        print(
            f"{row.goal_id}  {row.name:55} {row.measured:9.1f}  floor {row.floor:9.1f}  x {row.ratio:5.2f}  {row.goal}"
        )
