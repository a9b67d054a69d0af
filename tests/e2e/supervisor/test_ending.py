"""Ending a job that may not want to end: cancel, timeouts, traps, daemons."""

import asyncio
import time
from pathlib import Path

import pytest

from ostler.agent.supervision import JobResult, StepOrder, Supervisor
from ostler.executors import tree
from tests.e2e.supervisor.parts import JOB, end, log_of, order, run, supervisors, until_log

DEAF = "trap '' INT TERM; echo ready; while :; do sleep 1000; done"
DAEMONS = """
  trap '' INT TERM HUP
  for i in 1 2 3; do setsid bash -c "trap '' INT TERM HUP; (env -i sleep 1000 &); exec -a deaf sleep 1000" & done
  echo ready; while :; do sleep 1000; done
"""


def test_cancel_is_an_interrupt_first(tmp_path: Path) -> None:
    async def scenario() -> tuple[JobResult, bytes]:
        async with supervisors(tmp_path) as owner:
            job = order("trap 'echo saved; exit 0' INT; echo ready; while :; do sleep 0.01; done", "echo never")
            attempt = await owner.launch(job)
            await until_log(attempt, b"ready")
            await attempt.cancel("asked")
            await attempt.cancel("again")
            return await end(attempt), log_of(attempt)

    result, log = asyncio.run(scenario())
    assert (result.conclusion, result.cause, result.evidence) == ("cancelled", "cancelled", "asked")
    assert log == b"ready\nsaved\n"


def test_cancel_reaches_a_step_fast(tmp_path: Path) -> None:
    async def scenario() -> list[float]:
        delays: list[float] = []
        async with supervisors(tmp_path) as owner:
            for number in range(20):
                attempt = await owner.launch(order("echo ready; exec sleep 1000", job_id=f"{JOB}_{number}"))
                await until_log(attempt, b"ready")
                began = time.monotonic()
                await attempt.cancel("asked")
                assert (await end(attempt)).conclusion == "cancelled"
                delays.append(time.monotonic() - began)
        return delays

    assert max(asyncio.run(scenario())) < 1


@pytest.mark.parametrize("program", [DEAF, DAEMONS], ids=["deaf", "daemons"])
def test_deaf_tree_is_gone_after_its_grace(tmp_path: Path, program: str) -> None:
    async def scenario() -> float:
        async with supervisors(tmp_path) as owner:
            attempt = await owner.launch(order(program, graces_ms=(150, 150)))
            await until_log(attempt, b"ready")
            began = time.monotonic()
            await attempt.cancel("asked")
            assert (await end(attempt)).conclusion == "cancelled"
            took = time.monotonic() - began
            assert tree.marked(f"{JOB}.1") == []
            return took

    assert 0.3 <= asyncio.run(scenario()) < 0.3 + 1


def test_kill_waits_for_nothing(tmp_path: Path) -> None:
    async def scenario() -> JobResult:
        async with supervisors(tmp_path) as owner:
            attempt = await owner.launch(order(DEAF, graces_ms=(60_000, 60_000)))
            await until_log(attempt, b"ready")
            await attempt.kill()
            await attempt.kill()
            return await end(attempt)

    assert asyncio.run(scenario()).conclusion == "cancelled"


def test_daemon_without_marker_dies_with_the_job(tmp_path: Path) -> None:
    program = "setsid env -i sleep 1000 >/dev/null & echo $!; for i in $(seq 50); do :; done"
    _, log, _ = asyncio.run(run(tmp_path, order(program)))
    assert not Path(f"/proc/{int(log.split()[0])}").exists()


def test_job_runs_out_of_time(tmp_path: Path) -> None:
    always = StepOrder(name="a", script="echo never", always=True)
    result, log, attempt = asyncio.run(run(tmp_path, order("sleep 1000", always, timeout_ms=100)))
    assert (result.conclusion, result.cause, result.detail) == ("timed_out", "timed_out", "")
    assert log == b""
    assert [one.conclusion for one in attempt.events(0)] == [None, "timed_out", "skipped"]


def test_step_runs_out_of_time(tmp_path: Path) -> None:
    slow = StepOrder(name="slow", script="sleep 1000", timeout_ms=100)
    always = StepOrder(name="a", script="echo cleaned", always=True)
    result, log, attempt = asyncio.run(run(tmp_path, order(slow, "echo never", always)))
    assert (result.conclusion, result.cause, result.detail) == ("timed_out", "timed_out", "step")
    assert log == b"cleaned\n"
    finished = [one.conclusion for one in attempt.events(0) if one.kind == "step_finished"]
    assert finished == ["timed_out", "skipped", "succeeded"]


def test_cancel_after_the_end_changes_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervisors(tmp_path) as owner:
            first: Supervisor = await owner.launch(order("true", job_id=JOB + "a"))
            await end(first)
            second = await owner.launch(order("echo ready; sleep 0.2; echo done", job_id=JOB + "b"))
            await until_log(second, b"ready")
            await first.cancel("too late")
            await first.kill()
            assert (await end(second)).conclusion == "succeeded"
            assert first.result() is not None

    asyncio.run(scenario())
