"""The overhead of a workflow's steps: a job of a hundred that do nothing, against a hundred shells that do nothing."""

import asyncio
from time import perf_counter

from ostler.agent.local_supervisors import WORKFLOW, LocalSupervisors
from ostler.agent.supervision import ActionServices, JobOrder
from ostler.protocol.v1.program import JobProgram, Step
from tests.bench import floors
from tests.bench.context import Context
from tests.bench.figure import Figure, Sample, compared

GOALS = ("5.3",)
_STEPS = 100


async def measure(context: Context) -> list[Figure]:
    floor = await floors.bash_spawns(context, at_once=1)
    owner = LocalSupervisors(context.directory(), kind=WORKFLOW)
    try:
        owner.warm_up()
        await _steps_per_second(owner, 0)
        rates = [await _steps_per_second(owner, number) for number in range(1, 4)]
    finally:
        await owner.close()
    what = f"{_STEPS} steps of `true` in one job, steps a second"
    return [compared("5.3", what, Sample.of(rates), "/s", floor, at_least=0.2)]


async def _steps_per_second(owner: LocalSupervisors, number: int) -> float:
    program = JobProgram(job_id="job", steps=[Step(run="true") for _ in range(_STEPS)])
    order = JobOrder(
        job_id=f"job_bench{number}", fence=1, program=program, services=ActionServices(runner_name="bench")
    )
    began = perf_counter()
    attempt = await owner.launch(order)
    async with asyncio.timeout(60):
        while (result := attempt.result()) is None:
            await attempt.changed()
    seconds = perf_counter() - began
    assert result.conclusion == "succeeded", result
    await owner.discard(order.job_id, 1)
    return _STEPS / seconds
