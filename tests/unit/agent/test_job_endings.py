"""How a job's life on a runner ends otherwise: cancelled, abandoned, fenced off, or by a fault of the runner's own."""

import asyncio

import pytest

from ostler.agent.supervision import JobResult
from ostler.domain.job import JobKind
from tests.unit.agent.control_plane import Fault
from tests.unit.agent.fakes import Bench, FakeSupervisor, patient
from tests.unit.client.simulated import simulate

# Cancel, abandon, fences.


def test_cancel_reaches_a_quiet_job_within_a_second() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.supervisors.script = patient
        async with bench:
            job = await bench.plane.submit("quiet")
            await bench.plane.until(lambda: job.events)
            await asyncio.sleep(5)
            loop = asyncio.get_running_loop()
            began = loop.time()
            await bench.plane.direct(job, "cancel")
            await bench.plane.until(lambda: job.result)
            assert loop.time() - began < 1
            assert job.state == "cancelled"
            assert job.result is not None
            assert job.result.failure is not None
            assert job.result.failure.cause == "cancelled"

    simulate(scenario)


@pytest.mark.parametrize("through", ["append_log", "events", "finish", "start", "directive", "heartbeat"])
def test_a_stale_fence_kills_the_job_and_reports_nothing(through: str) -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.supervisors.script = patient
        if through == "start":
            bench.plane.faults["start"].append(Fault("problem", "stale_fence"))
        async with bench:
            job = await bench.plane.submit("stale")
            if through == "start":
                await bench.plane.until(lambda: bench.plane.faults["start"] == type(bench.plane.faults["start"])())
                await asyncio.sleep(1)
            else:
                await bench.plane.until(lambda: job.events)
                supervisor = bench.supervisor(job.id)
                if through == "directive":
                    await bench.plane.direct(job, "abandon")
                else:
                    job.fence += 1
                {
                    "append_log": lambda: supervisor.say(b"text\n"),
                    "events": lambda: supervisor.step("step_finished"),
                    "finish": supervisor.end,
                }.get(through, lambda: None)()
                await asyncio.sleep(30)
                assert supervisor.killed
            assert bench.agent.slots.lives == []
            assert bench.supervisors.attempts == {}
            assert job.result is None
            assert bench.agent.journal.entries == []

    simulate(scenario)


@pytest.mark.parametrize(
    ("kind", "killed"), [(JobKind.INSIGHTS_SCAN, True), (JobKind.CI, False), (JobKind.DEPLOYMENT, False)]
)
def test_a_job_that_may_run_elsewhere_is_killed_when_its_lease_cannot_be_renewed(kind: JobKind, killed: bool) -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.supervisors.script = patient
        async with bench:
            job = await bench.plane.submit("scan", kind=kind)
            await bench.plane.until(lambda: job.events)
            supervisor = bench.supervisor(job.id)
            await asyncio.sleep(120)
            assert not supervisor.killed
            bench.transport.away = True
            await asyncio.sleep(bench.plane.lease_ms / 1000 - 8)
            assert not supervisor.killed
            await asyncio.sleep(9)
            assert supervisor.killed is killed

    simulate(scenario)


# Faults of the runner's own.


def test_a_supervisor_that_cannot_start_is_an_infrastructure_failure_and_shown() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.supervisors.broken = True
        async with bench:
            job = await bench.plane.submit("unlucky")
            await bench.plane.until(lambda: job.result)
            assert job.result is not None
            assert job.result.failure is not None
            assert (job.result.failure.cause, job.result.failure.detail) == ("infrastructure", "supervisor_not_started")
            await bench.plane.until(lambda: any(beat.error for beat in bench.plane.heartbeats))

    simulate(scenario)


def test_a_full_disk_gives_the_claim_back_and_lets_a_finished_job_be_reported() -> None:
    async def scenario() -> None:
        bench = Bench()

        def fill(supervisor: FakeSupervisor) -> None:
            bench.disk.full = True
            supervisor.end(JobResult(conclusion="failed", cause="infrastructure", detail="disk_full"))

        bench.supervisors.script = fill
        async with bench:
            first = await bench.plane.submit("fills the disk")
            await bench.plane.until(lambda: first.result)
            assert first.result is not None
            assert first.result.failure is not None
            assert first.result.failure.detail == "disk_full"
            second = await bench.plane.submit("comes too late")
            await bench.plane.until(lambda: second.state == "released")
            assert len(bench.supervisors.launched) == 1

    simulate(scenario)


def test_below_the_disk_floor_no_job_is_claimed() -> None:
    async def scenario() -> None:
        bench = Bench(minimum_free_bytes=1 << 20)
        bench.disk.free = 1 << 10
        async with bench:
            job = await bench.plane.submit("waits")
            await bench.plane.until(lambda: any("disk_full" in beat.error for beat in bench.plane.heartbeats))
            assert job.state == "queued"
            bench.disk.free = 1 << 30
            await bench.plane.until(lambda: job.result)
            await bench.plane.until(lambda: not bench.plane.heartbeats[-1].error)

    simulate(scenario)
