"""Real supervisors with one-line jobs, followed to their end."""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from pathlib import Path

from ostler.agent.local_supervisors import LocalSupervisors
from ostler.agent.supervision import JobOrder, JobResult, Limits, Network, StepOrder, Supervisor
from ostler.logs.frame import decode_all

PATIENCE = 60
JOB = os.environ.setdefault("OSTLER_TEST_JOB", f"job_test{os.getpid()}")
"""Cgroups and markers are named after the attempt, and other test runs on this machine must not share them."""


def order(
    *steps: StepOrder | str,
    job_id: str = JOB,
    env: dict[str, str] | None = None,
    secrets: tuple[str, ...] = (),
    timeout_ms: int = 0,
    graces_ms: tuple[int, int] = (7_500, 2_500),
    limits: Limits | None = None,
    isolation: str = "process",
    network: Network = "full",
) -> JobOrder:
    """An order whose plain texts are scripts for bash."""
    made = tuple(
        StepOrder(name=f"step{index}", script=step) if isinstance(step, str) else step
        for index, step in enumerate(steps)
    )
    return JobOrder(
        job_id=job_id,
        fence=1,
        steps=made,
        env=env or {},
        secrets=secrets,
        timeout_ms=timeout_ms,
        interrupt_grace_ms=graces_ms[0],
        terminate_grace_ms=graces_ms[1],
        limits=limits or Limits(),
        isolation=isolation,
        network=network,
    )


@contextlib.asynccontextmanager
async def supervisors(root: Path, slots: int = 1) -> AsyncGenerator[LocalSupervisors]:
    """Supervisors that are let go at the end."""
    made = LocalSupervisors(root, slots)
    try:
        yield made
    finally:
        for job_id, fence in made.found():
            await made.discard(job_id, fence)
        await made.close()
        complaints = root / "supervisors.log"
        assert not complaints.exists() or not complaints.read_text(), complaints.read_text()


async def end(attempt: Supervisor) -> JobResult:
    """Wait for the result."""
    async with asyncio.timeout(PATIENCE):
        while (result := attempt.result()) is None:
            await attempt.changed()
    return result


async def until_log(attempt: Supervisor, text: bytes) -> bytes:
    """Wait until the log holds a text."""
    async with asyncio.timeout(PATIENCE):
        while text not in (log := log_of(attempt)):
            assert attempt.result() is None, (log, attempt.result())
            await attempt.changed()
    return log


def log_of(attempt: Supervisor) -> bytes:
    """The text so far, read as the agent does: in pieces."""
    texts: list[bytes] = []
    offset = 0
    while frames := attempt.log_frames(offset, 10_000):
        for frame in decode_all(frames):
            texts.append(frame.text)
            offset = frame.header.next_offset
    return b"".join(texts)


async def run(root: Path, job: JobOrder) -> tuple[JobResult, bytes, Supervisor]:
    """Run a job; return result, log and the attempt."""
    async with supervisors(root) as owner:
        attempt = await owner.launch(job)
        result = await end(attempt)
        return result, log_of(attempt), attempt
