"""What survives whose death: agents are restarted and killed, supervisors are killed."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from ostler.agent.supervision import JobResult
from ostler.executors import tree
from tests.e2e.supervisor.parts import JOB, end, log_of, order, supervisors, until_log

GATED = "echo ready; while [ ! -e gate ]; do sleep 0.01; done; echo done"
AGENT = """
import asyncio, pathlib, sys
from tests.e2e.supervisor.parts import order, until_log
from ostler.agent.local_supervisors import LocalSupervisors

async def main():
    owner = LocalSupervisors(pathlib.Path(sys.argv[1]))
    attempt = await owner.launch(order(sys.argv[2]))
    await until_log(attempt, b"ready")
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def start_agent_and_kill_it(root: Path, program: str) -> None:
    agent = subprocess.Popen([sys.executable, "-c", AGENT, str(root), program], stdout=subprocess.PIPE)
    assert agent.stdout
    assert agent.stdout.readline() == b"ready\n"
    agent.kill()
    agent.wait()
    agent.stdout.close()


def test_a_new_agent_adopts_the_job_of_a_killed_one(tmp_path: Path) -> None:
    start_agent_and_kill_it(tmp_path, GATED)

    async def scenario() -> None:
        async with supervisors(tmp_path) as owner:
            assert owner.found() == [(JOB, 1)]
            attempt = await owner.adopt(JOB, 1)
            assert attempt
            assert attempt.result() is None
            assert log_of(attempt) == b"ready\n"
            assert [event.kind for event in attempt.events(0)] == ["step_started"]
            (tmp_path / f"{JOB}.1" / "work" / "gate").touch()
            assert (await end(attempt)).conclusion == "succeeded"
            assert log_of(attempt) == b"ready\ndone\n"
            assert len(attempt.events(1)) == 1

    asyncio.run(scenario())


def test_an_adopted_job_can_be_cancelled(tmp_path: Path) -> None:
    start_agent_and_kill_it(tmp_path, GATED)

    async def scenario() -> JobResult:
        async with supervisors(tmp_path) as owner:
            attempt = await owner.adopt(JOB, 1)
            assert attempt
            await attempt.cancel("asked")
            return await end(attempt)

    assert asyncio.run(scenario()).conclusion == "cancelled"


def test_a_second_owner_in_the_same_process_adopts(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervisors(tmp_path) as second:
            async with asyncio.timeout(30):
                first = type(second)(tmp_path)
                await until_log(await first.launch(order(GATED)), b"ready")
                await first.close()
                attempt = await second.adopt(JOB, 1)
                assert attempt
                (tmp_path / f"{JOB}.1" / "work" / "gate").touch()
                assert (await end(attempt)).conclusion == "succeeded"

    asyncio.run(scenario())


def test_a_job_that_ended_without_an_agent_is_found(tmp_path: Path) -> None:
    start_agent_and_kill_it(tmp_path, "echo ready; sleep 0.3; exit 4")

    async def scenario() -> None:
        async with supervisors(tmp_path) as owner:
            attempt = await owner.adopt(JOB, 1)
            assert attempt
            assert (await end(attempt)).exit_code == 4
            again = await owner.adopt(JOB, 1)
            assert again
            assert (await end(again)).exit_code == 4
            await owner.discard(JOB, 1)
            await owner.discard(JOB, 1)
            assert owner.found() == []
            assert await owner.adopt(JOB, 1) is None

    asyncio.run(scenario())


def kill_supervisor(root: Path) -> None:
    state = json.loads((root / f"{JOB}.1" / "state").read_text())
    process = os.pidfd_open(state["pid"])
    os.kill(state["pid"], signal.SIGKILL)
    select.select([process], [], [])
    os.close(process)


def test_a_killed_supervisor_is_noticed_and_its_tree_killed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervisors(tmp_path) as owner:
            attempt = await owner.launch(order("setsid sleep 1000 & echo ready; sleep 1000"))
            await until_log(attempt, b"ready")
            kill_supervisor(tmp_path)
            result = await end(attempt)
            assert (result.conclusion, result.cause, result.detail) == ("failed", "infrastructure", "supervisor_lost")
            assert tree.marked(f"{JOB}.1") == []
            again = await owner.adopt(JOB, 1)
            assert again
            assert again.result() == result
            assert (await end(await owner.launch(order("true", job_id=JOB + "n")))).conclusion == "succeeded"

    asyncio.run(scenario())


def test_agent_and_supervisor_killed(tmp_path: Path) -> None:
    start_agent_and_kill_it(tmp_path, "setsid sleep 1000 & echo ready; sleep 1000")
    kill_supervisor(tmp_path)

    async def scenario() -> None:
        async with supervisors(tmp_path) as owner:
            attempt = await owner.adopt(JOB, 1)
            assert attempt
            assert tree.marked(f"{JOB}.1") == []
            result = await end(attempt)
            assert (result.detail, result.log_bytes) == ("supervisor_lost", len(b"ready\n"))
            assert log_of(attempt) == b"ready\n"

    asyncio.run(scenario())


def test_discarding_a_running_attempt_ends_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervisors(tmp_path) as owner:
            attempt = await owner.launch(order("setsid sleep 1000 & echo ready; sleep 1000"))
            await until_log(attempt, b"ready")
            await owner.discard(JOB, 1)
            assert tree.marked(f"{JOB}.1") == []
            assert owner.found() == []

    asyncio.run(scenario())


def test_an_agent_that_looks_around_has_a_supervisor_for_each_slot(tmp_path: Path) -> None:
    """It looks before its first hello, so that its first job pays for no start of a process."""

    async def scenario() -> None:
        async with supervisors(tmp_path, slots=2) as owner:
            assert owner.found() == []
            waiting = [process.pid for process in owner._idle]
            assert len(waiting) == 2
            await end(await owner.launch(order("true")))
            assert {process.pid for process in (*owner._idle, *owner._busy)} == set(waiting)

    asyncio.run(scenario())


def test_idle_supervisor_that_died_is_replaced(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervisors(tmp_path) as owner:
            owner.warm_up()
            os.kill(owner._idle[0].pid, signal.SIGKILL)
            result = await end(await owner.launch(order("true")))
            assert result.conclusion == "succeeded", result

    asyncio.run(scenario())


def test_terminated_supervisor_cancels_its_job(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervisors(tmp_path) as owner:
            attempt = await owner.launch(order("echo ready; sleep 1000"))
            await until_log(attempt, b"ready")
            state = json.loads((tmp_path / f"{JOB}.1" / "state").read_text())
            os.kill(state["pid"], signal.SIGTERM)
            assert (await end(attempt)).conclusion == "cancelled"
            assert (await end(await owner.launch(order("true", job_id=JOB + "n")))).conclusion == "succeeded"

    asyncio.run(scenario())
