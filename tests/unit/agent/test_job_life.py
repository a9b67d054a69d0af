"""The life of a job on a runner, from the claim to the acknowledged result, and everything that may happen on the way."""

import asyncio

from tests.unit.agent.fakes import Bench


def run(coroutine: object) -> None:
    asyncio.run(coroutine)  # pyright: ignore[reportArgumentType]


def test_a_job_goes_from_enrolment_to_its_acknowledged_result() -> None:
    async def scenario() -> None:
        async with Bench() as bench:
            job = await bench.plane.submit("hello", "echo hello")
            await bench.plane.until(lambda: job.result)
            assert job.state == "succeeded"
            assert bytes(job.log) == b"echo hello\n"
            assert [event.state.value for event in job.events.values()] == ["running", "succeeded"]
            assert bench.plane.calls["enrol"] == 1

    run(scenario())
