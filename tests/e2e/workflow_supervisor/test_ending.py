"""How a job of a workflow ends before its time: cancelled, timed out, killed; and what still runs then."""

import asyncio
import subprocess
import sys
from pathlib import Path

from ostler.agent.supervision import JobOrder
from tests.e2e.supervisor.parts import JOB, end, log_of, supervisors, until_log
from tests.e2e.workflow_supervisor.parts import Ran, order, program, ran

QUICK = (200, 200)
AGENT = """
import asyncio, pathlib, sys
from ostler.agent.local_supervisors import LocalSupervisors
from tests.e2e.supervisor.parts import until_log
from tests.e2e.workflow_supervisor.parts import order, program

STEPS = '''
- run: echo began; while [ ! -e go ]; do sleep 0.02; done; echo "x=1" >>"$GITHUB_OUTPUT"
  id: one
- run: echo "then ${{ steps.one.outputs.x }}"
'''

async def main():
    owner = LocalSupervisors(pathlib.Path(sys.argv[1]))
    attempt = await owner.launch(order(program(STEPS, outputs={"x": "${{ steps.one.outputs.x }}"})))
    await until_log(attempt, b"\\nbegan")
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def _cancelled(root: Path, job: JobOrder, when: bytes, *, kill: bool = False) -> Ran:
    async with supervisors(root) as owner:
        attempt = await owner.launch(job)
        await until_log(attempt, when)
        await (attempt.kill() if kill else attempt.cancel("asked by ann"))
        result = await end(attempt)
        return Ran(result, log_of(attempt).decode(), attempt.events(0))


def test_a_cancelled_job_stops_its_step_and_cleans_up(tmp_path: Path) -> None:
    job = program(
        """
        - run: echo began; sleep 60
        - run: echo not
        - run: echo "cleaned ${{ job.status }}"
          if: always()
        - run: echo told
          if: cancelled()
        - run: echo not
          if: failure()
        """
    )
    found = asyncio.run(_cancelled(tmp_path, order(job, graces_ms=QUICK), b"\nbegan"))
    assert (found.result.conclusion, found.result.cause, found.result.evidence) == (
        "cancelled",
        "cancelled",
        "asked by ann",
    )
    assert found.said == ["began", "cleaned cancelled", "told"]
    ends = [event.conclusion for event in found.events if event.program_step >= 0 and event.conclusion]
    assert ends == ["cancelled", "skipped", "succeeded", "succeeded", "skipped"]


def test_a_step_that_runs_always_is_not_interrupted_by_a_cancellation(tmp_path: Path) -> None:
    job = program(
        """
        - run: echo began; sleep 0.3; echo finished
          if: always()
        - run: echo not
        """
    )
    found = asyncio.run(_cancelled(tmp_path, order(job, graces_ms=QUICK), b"\nbegan"))
    assert found.said == ["began", "finished"]
    assert found.result.conclusion == "cancelled"


def test_patience_with_what_runs_in_spite_of_a_cancellation_ends(tmp_path: Path) -> None:
    job = program("- run: echo began; sleep 60\n- {run: sleep 60, if: always()}", cancel_timeout_ms=500)
    found = asyncio.run(_cancelled(tmp_path, order(job, graces_ms=QUICK), b"\nbegan"))
    assert found.result.conclusion == "cancelled"
    assert found.steps["Run sleep 60"] == "cancelled"


def test_a_killed_job_runs_nothing_more(tmp_path: Path) -> None:
    job = program(
        """
        - run: trap '' INT TERM; echo began; sleep 60
        - run: echo not
          if: always()
        """
    )
    found = asyncio.run(_cancelled(tmp_path, order(job), b"\nbegan", kill=True))
    assert found.said == ["began"]
    assert found.result.conclusion == "cancelled"


def test_a_step_that_takes_too_long_fails_and_may_be_forgiven(tmp_path: Path) -> None:
    job = program(
        """
        - id: slow
          run: sleep 60
          timeout-minutes: ${{ 0.004 }}
          continue-on-error: ${{ 1 == 1 }}
        - run: echo "${{ steps.slow.outcome }} ${{ steps.slow.conclusion }}"
        - run: sleep 60
          timeout-minutes: 0.004
        """
    )
    found = ran(tmp_path, order(job, graces_ms=QUICK))
    assert found.said == ["failure success"]
    assert found.result.conclusion == "failed"
    slow = next(event for event in found.events if event.step_id == "slow" and event.conclusion)
    assert (slow.outcome, slow.conclusion) == ("timed_out", "succeeded")


def test_a_job_that_takes_too_long_is_cancelled(tmp_path: Path) -> None:
    job = program("- run: sleep 60\n- {run: echo cleaned, if: always()}")
    found = ran(tmp_path, order(job, graces_ms=QUICK, timeout_ms=300))
    assert (found.result.conclusion, found.result.cause) == ("timed_out", "timed_out")
    assert found.said == ["cleaned"]


def test_what_steps_left_running_is_gone_afterwards(tmp_path: Path) -> None:
    job = program("- run: setsid sleep 1000 & echo $! >pid\n- run: kill -0 $(cat pid) && echo alive")
    found = ran(tmp_path, order(job))
    assert found.said[0] == "alive"
    assert "killed what the job left running: sleep" in found.log


def test_a_job_outlives_its_agent_and_is_adopted(tmp_path: Path) -> None:
    agent = subprocess.Popen([sys.executable, "-c", AGENT, str(tmp_path)], stdout=subprocess.PIPE)
    assert agent.stdout
    assert agent.stdout.readline() == b"ready\n"
    agent.kill()
    agent.wait()
    agent.stdout.close()

    async def adopt() -> Ran:
        async with supervisors(tmp_path) as owner:
            attempt = await owner.adopt(JOB, 1)
            assert attempt is not None
            (tmp_path / f"{JOB}.1/work/go").touch()
            result = await end(attempt)
            return Ran(result, log_of(attempt).decode(), attempt.events(0))

    found = asyncio.run(adopt())
    assert found.result.conclusion == "succeeded"
    assert found.said == ["began", "then 1"]
    assert found.result.outputs == {"x": "1"}
