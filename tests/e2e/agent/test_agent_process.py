"""The real agent process with real supervisors, against a control plane that really loses connections."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.e2e.agent.http_server import HttpServer, serving
from tests.unit.agent.control_plane import REGISTRATION_TOKEN, ControlPlane, Fault

_MEMORY_LIMIT_KIB = 50 * 1024


@asynccontextmanager
async def agent(
    server: HttpServer, directory: Path, *arguments: str, **extra: str
) -> AsyncGenerator[asyncio.subprocess.Process]:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "OSTLER_AGENT_TOKEN": REGISTRATION_TOKEN,
        "OSTLER_AGENT_SERVICE_URL": server.url,
        "OSTLER_AGENT_STATE_DIRECTORY": str(directory / "state"),
        "OSTLER_AGENT_NAME": "e2e",
        "OSTLER_AGENT_HTTP_SERVER_PORT": "0",
        "OSTLER_AGENT_REQUEST_RETRY_WAIT": "1s",
        **extra,
    }
    command = ("-c", "from ostler.cli.main import main; main()", "agent", "run", *arguments)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, env=environment, cwd=directory, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
            await process.wait()


async def logged(process: asyncio.subprocess.Process, event: str) -> None:
    """Wait for the agent to say that something happened."""
    assert process.stderr is not None
    while f'"event":"{event}"'.encode() not in await process.stderr.readline():
        assert process.returncode is None


def _files_with(directory: Path, text: bytes) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file() and text in path.read_bytes()]


def _resident_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def test_a_job_runs_in_a_real_process_and_the_agent_stays_small(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving() as server, agent(server, tmp_path) as process:
            plane = server.plane
            job = await plane.submit("hello", "echo hello $WHO", env={"WHO": "world"})
            await plane.until(lambda: job.result)
            assert bytes(job.log) == b"hello world\n"
            assert job.state == "succeeded"
            assert _resident_kib(process.pid) < _MEMORY_LIMIT_KIB
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
            assert plane.byes == 1

    asyncio.run(scenario())


def test_lost_connections_lose_and_repeat_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        plane = ControlPlane()
        for endpoint in ("enrol", "access_token", "hello", "claim", "start", "append_log", "events", "finish"):
            plane.faults[endpoint].extend([Fault("lost_request"), Fault("lost_reply")])
        async with serving(plane) as server, agent(server, tmp_path):
            job = await plane.submit("flaky", "for i in 1 2 3; do echo line $i; done")
            await plane.until(lambda: job.result)
            assert bytes(job.log) == b"line 1\nline 2\nline 3\n"
            assert (job.starts, job.fence) == (1, 1)
            assert len(plane.enrolled) == 1

    asyncio.run(scenario())


def test_a_running_job_survives_the_death_of_its_agent(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving() as server:
            plane = server.plane
            async with agent(server, tmp_path):
                job = await plane.submit(
                    "long", f"echo first; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo last"
                )
                await plane.until(lambda: b"first" in job.log)
            (tmp_path / "go").touch()
            async with agent(server, tmp_path):
                await plane.until(lambda: job.result)
            assert bytes(job.log) == b"first\nlast\n"
            assert (job.state, job.starts, job.fence) == ("succeeded", 1, 1)

    asyncio.run(scenario())


def test_a_server_that_was_away_gets_every_line_and_result(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving() as server, agent(server, tmp_path) as process:
            plane = server.plane
            job = await plane.submit(
                "through", f"echo before; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo after"
            )
            await plane.until(lambda: b"before" in job.log)
            port = server.port
            await server.stop()
            (tmp_path / "go").touch()
            await logged(process, "job_finished")
            await server.start(port)
            await plane.until(lambda: job.result)
            assert bytes(job.log) == b"before\nafter\n"

    asyncio.run(scenario())


def test_cancel_reaches_a_running_job_through_the_open_poll(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving() as server, agent(server, tmp_path):
            plane = server.plane
            job = await plane.submit("sleeper", "echo started; sleep 60")
            await plane.until(lambda: b"started" in job.log)
            await plane.direct(job, "cancel")
            await plane.until(lambda: job.result)
            assert job.state == "cancelled"
            assert job.result is not None
            assert job.result.failure is not None
            assert job.result.failure.cause == "cancelled"

    asyncio.run(scenario())


def test_several_runners_live_in_one_process_with_an_identity_each(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving() as server, agent(server, tmp_path, "--runners", "3"):
            plane = server.plane
            await plane.until(lambda: len(plane.hellos) == 3)
            assert sorted(one.name for one in plane.enrolled) == ["e2e-1", "e2e-2", "e2e-3"]
            assert len({one.public_key for one in plane.enrolled}) == 3
            jobs = [await plane.submit(f"job {number}", "echo hi") for number in range(6)]
            await plane.until(lambda: all(job.result for job in jobs))

    asyncio.run(scenario())


def test_a_refused_token_ends_the_agent_with_the_fix(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving() as server, agent(server, tmp_path, OSTLER_AGENT_TOKEN="wrong") as process:
            assert await process.wait() == 4

    asyncio.run(scenario())


def test_the_secrets_of_a_job_are_not_on_the_runners_disk_and_masked_in_the_log(tmp_path: Path) -> None:
    async def scenario() -> None:
        canary = "canary-5f1d7c"
        async with serving() as server, agent(server, tmp_path):
            plane = server.plane
            job = await plane.submit(
                "secret",
                "echo got $TOKEN",
                f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done",
                secrets={"TOKEN": canary},
            )
            await plane.until(lambda: b"got" in job.log)
            assert canary.encode() not in bytes(job.log)
            assert _files_with(tmp_path, canary.encode()) == []
            (tmp_path / "go").touch()
            await plane.until(lambda: job.result)

    asyncio.run(scenario())
