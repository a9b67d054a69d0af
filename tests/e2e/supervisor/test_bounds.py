"""What a job cannot do: exceed its limits, fill the disk, read the supervisor, find a secret where none may be."""

import asyncio
import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from ostler.agent.supervision import Limits, StepOrder
from ostler.executors import cgroup, tree
from tests.e2e.supervisor.parts import JOB, end, log_of, order, run, supervisors, until_log

CANARY = "canary-3f9c-secret"
LIMITED = cgroup.discover().by_controller


def demand(controller: str) -> None:
    if controller not in LIMITED:
        pytest.skip(f"this host offers no cgroup controller for {controller}")


def test_memory(tmp_path: Path) -> None:
    demand("memory")
    eater = "python3 -c 'x = bytearray(300 << 20)'; echo survived"
    job = order(eater, env={"PATH": os.environ["PATH"]}, limits=Limits(memory_bytes=64 << 20))
    result, log, _ = asyncio.run(run(tmp_path, job))
    assert (result.conclusion, result.cause, result.detail) == ("failed", "infrastructure", "out_of_memory"), result
    assert b"the job reached its 67108864 bytes of memory" in log
    assert 0 < result.usage.memory_peak_bytes <= 64 << 20


def test_fork_bomb_dies_alone(tmp_path: Path) -> None:
    demand("pids")
    bomb = "echo ready; b() { b | b & }; while :; do b 2>/dev/null; done"

    async def scenario() -> None:
        async with supervisors(tmp_path) as owner:
            attempt = await owner.launch(order(bomb, limits=Limits(pids=64), timeout_ms=1_000, graces_ms=(100, 100)))
            result = await end(attempt)
            assert result.conclusion in ("timed_out", "failed")
            assert tree.marked(f"{JOB}.1") == []
            assert (await end(await owner.launch(order("true", job_id=JOB + "n")))).conclusion == "succeeded"

    asyncio.run(scenario())


def test_processor(tmp_path: Path) -> None:
    demand("cpu")
    job = order("timeout 1 sh -c 'while :; do :; done' || true", limits=Limits(cpu_millis=200))
    result, _, _ = asyncio.run(run(tmp_path, job))
    assert result.usage.cpu_micros < 700_000


def test_impossible_limit_is_refused(tmp_path: Path) -> None:
    job = order("echo never", limits=Limits(memory_bytes=1 << 62, cpu_millis=1))
    result, log, _ = asyncio.run(run(tmp_path, job))
    assert result.cause in ("configuration", "")
    assert result.cause == "" or log == b""


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(disk)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a small disk needs root")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_full_disk_fails_the_job_cleanly(small_disk: Path) -> None:
    filler = "echo before; dd if=/dev/zero of=big bs=1M count=200; echo after; sleep 1000"
    result, log, attempt = asyncio.run(run(small_disk, order(filler, "echo never")))
    assert (result.conclusion, result.cause, result.detail) == ("failed", "infrastructure", "disk_full")
    assert log.startswith(b"before\n")
    assert result.log_bytes == len(log)
    assert [one.conclusion for one in attempt.events(0) if one.kind == "step_finished"][-1] == "skipped"


def test_full_disk_by_the_log_itself(small_disk: Path) -> None:
    flood = "head -c 150000000 /dev/urandom; echo after; sleep 1000"
    result, log, _ = asyncio.run(run(small_disk, order(flood)))
    assert (result.cause, result.detail) == ("infrastructure", "disk_full")
    assert result.log_bytes == len(log)


def test_quota(tmp_path: Path) -> None:
    filler = "for i in 1 2 3 4 5 6 7 8; do head -c 2000000 /dev/zero >f$i; done; sleep 1000"
    result, _, _ = asyncio.run(run(tmp_path, order(filler, limits=Limits(disk_bytes=8 << 20))))
    assert (result.cause, result.detail) == ("infrastructure", "disk_full")
    assert "quota" in result.evidence


def holders(root: Path, *more: str) -> list[Path]:
    """Those of the files that hold the secret."""
    paths = [*root.rglob("*"), *map(Path, more)]
    return [path for path in paths if path.is_file() and CANARY.encode() in path.read_bytes()]


def test_secrets_are_nowhere(tmp_path: Path) -> None:
    """The value is in the job's own environment; it is not on disk, nor in anything about the supervisor."""

    async def scenario() -> None:
        async with supervisors(tmp_path) as owner:
            job = order("echo $TOKEN; echo ready; sleep 1000", "false", env={"TOKEN": CANARY}, secrets=(CANARY,))
            attempt = await owner.launch(job)
            log = await until_log(attempt, b"ready")
            assert log == b"***\nready\n"
            pid = owner._busy[0].pid
            assert holders(tmp_path, f"/proc/{pid}/cmdline", f"/proc/{pid}/environ") == []
            await attempt.kill()
            await end(attempt)
            assert holders(tmp_path) == []

    asyncio.run(scenario())


def test_evidence_is_masked(tmp_path: Path) -> None:
    async def scenario() -> str:
        async with supervisors(tmp_path) as owner:
            attempt = await owner.launch(order("echo ready; sleep 1000", secrets=(CANARY,)))
            await until_log(attempt, b"ready")
            await attempt.cancel(f"because {CANARY}")
            return (await end(attempt)).evidence

    assert asyncio.run(scenario()) == "because ***"


def test_a_job_cannot_read_its_supervisor(tmp_path: Path) -> None:
    """Neither can another process of the same user; only root's privileges open it, so the job gives them up."""
    peek = "for f in $PPID/mem $PPID/environ $PPID/fd/3 $$/environ; do head -c 1 /proc/$f; done"
    unprivileged = f"exec setpriv --bounding-set=-all --inh-caps=-all bash -c '{peek}'" if os.geteuid() == 0 else peek
    job = order(StepOrder(name="peek", argv=("/bin/bash", "-c", unprivileged)), env={"PATH": os.environ["PATH"]})
    _, log, _ = asyncio.run(run(tmp_path, job))
    assert log.count(b"Permission denied") == 3, log
    assert len(log.splitlines()) == 4, log


def test_log_is_the_same_for_any_window(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervisors(tmp_path) as owner:
            attempt = await owner.launch(order("seq 200000"))
            await end(attempt)
            whole = log_of(attempt)
            assert whole == b"".join(b"%d\n" % number for number in range(1, 200_001))
            first = attempt.log_frames(0, 1)
            assert first
            assert attempt.log_frames(0, 1) == first
            assert attempt.log_frames(len(whole), 1) == b""
            assert attempt.log_frames(1, 1) == b""

    asyncio.run(scenario())
