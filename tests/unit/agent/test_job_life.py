"""The life of a job on a runner, from the claim to the acknowledged result, and all that may happen on the way."""

import asyncio

import pytest

from ostler.domain.job import JobKind
from tests.unit.agent.control_plane import ControlPlane, Fault
from tests.unit.agent.fakes import Bench, FakeSupervisor, patient
from tests.unit.client.simulated import simulate


def test_a_job_goes_from_enrolment_to_its_acknowledged_result() -> None:
    async def scenario() -> None:
        async with Bench() as bench:
            job = await bench.plane.submit("hello", "echo hello", secrets={"KEY": "hidden"}, env={"A": "b"})
            await bench.plane.until(lambda: job.result)
            assert job.state == "succeeded"
            assert bytes(job.log) == b"echo hello\n"
            assert [event.state.value for event in job.events.values()] == ["running", "succeeded"]
            order = bench.supervisors.launched[0]
            assert order.env == {"A": "b", "KEY": "hidden"}
            assert order.secrets == ("hidden",)
            assert b"hidden" not in b"".join(bench.disk.files.values())
            await bench.plane.until(lambda: not bench.agent.slots.lives)
            assert bench.agent.journal.entries == []
            await asyncio.sleep(1)
            assert bench.supervisors.discarded == [(job.id, 1)]

    simulate(scenario)


def test_two_syncs_a_job_and_the_next_claim_comes_with_the_result() -> None:
    async def scenario() -> None:
        plane = ControlPlane()
        jobs = [await plane.submit(f"job {number}") for number in range(5)]
        async with Bench(plane) as bench:
            await plane.until(lambda: all(job.result for job in jobs))
            assert bench.disk.syncs == 2 * len(jobs)
            assert len([poll for poll in plane.polls if poll.wait_ms == 0]) == len(jobs)
            assert len([poll for poll in plane.polls if poll.wait_ms]) <= 2

    simulate(scenario)


def test_a_short_job_costs_a_start_and_a_result() -> None:
    async def scenario() -> None:
        async with Bench() as bench:
            job = await bench.plane.submit("hello", "echo hello")
            await bench.plane.until(lambda: job.result)
            assert bytes(job.log) == b"echo hello\n"
            assert sorted(job.events) == [1, 2]
            calls = bench.plane.calls
            assert (calls["start"], calls["finish"], calls["append_log"], calls["events"]) == (1, 1, 0, 0)

    simulate(scenario)


def test_a_carried_log_that_was_refused_is_sent_by_itself() -> None:
    async def scenario() -> None:
        plane = ControlPlane()
        plane.faults["finish"].append(Fault("problem", "log_incomplete", expected=0))
        async with Bench(plane):
            job = await plane.submit("hello", "echo hello")
            await plane.until(lambda: job.result)
            assert bytes(job.log) == b"echo hello\n"
            assert plane.calls["append_log"] == 1

    simulate(scenario)


@pytest.mark.parametrize("kind", ["lost_request", "lost_reply", "refused"])
@pytest.mark.parametrize("endpoint", ["enrol", "hello", "claim", "start", "append_log", "events", "finish"])
def test_a_lost_message_loses_nothing_and_repeats_nothing(endpoint: str, kind: str) -> None:
    async def scenario() -> None:
        plane = ControlPlane()
        plane.faults[endpoint].extend([Fault(kind)] * 2)  # pyright: ignore[reportArgumentType]
        async with Bench(plane) as bench:
            job = await plane.submit("hello", "echo hello")
            await plane.until(lambda: job.result)
            assert bytes(job.log) == b"echo hello\n"
            assert (job.starts, job.fence, len(bench.supervisors.launched)) == (1, 1, 1)
            assert sorted(job.events) == [1, 2]
            assert len(plane.enrolled) == 1

    simulate(scenario)


@pytest.mark.parametrize("code", ["unavailable", "internal", "too_many_requests", "token_expired"])
@pytest.mark.parametrize("endpoint", ["hello", "claim", "start", "append_log", "events", "finish"])
def test_a_server_in_trouble_is_waited_for(endpoint: str, code: str) -> None:
    async def scenario() -> None:
        plane = ControlPlane()
        plane.faults[endpoint].extend([Fault("problem", code)] * 4)
        async with Bench(plane, breaker_seconds=30.0):
            job = await plane.submit("hello", "echo hello")
            await plane.until(lambda: job.result)
            assert (bytes(job.log), job.starts) == (b"echo hello\n", 1)

    simulate(scenario)


# Crashes: the agent's process dies at a step, what was not synced is lost, the next agent takes over.


@pytest.mark.parametrize("append", range(1, 6))
@pytest.mark.parametrize("torn", [False, True])
def test_an_agent_that_dies_at_any_journal_write_neither_repeats_nor_forgets(append: int, torn: bool) -> None:
    """Rows 41, 42, 45, 59 of the threats: after each append the process is gone."""

    async def scenario() -> None:
        bench = Bench()
        died = asyncio.Event()
        seen = 0

        def die(_: bytes) -> None:
            nonlocal seen
            seen += 1
            if seen == append:
                bench.transport.away = True
                died.set()

        bench.disk.on_append = die
        async with bench:
            job = await bench.plane.submit("once", "echo once")
            async with asyncio.timeout(100):
                await died.wait()
            bench.disk.on_append = None
            if torn:
                bench.disk.durable["journal"] = bench.disk.durable.get("journal", b"") + b'1234abcd {"job_i'
            bench.transport.away = False
            await bench.restart()
            async with asyncio.timeout(1000):
                await bench.plane.until(lambda: job.result or job.state == "released" or not bench.disk.durable)
                if not job.result and job.state != "released":
                    assert job.starts == 0
                    return
            assert len(bench.supervisors.launched) <= 1
            assert job.starts <= 1
            if bench.supervisors.launched:
                assert bytes(job.log) == b"echo once\n"
                assert job.result is not None
                assert job.result.conclusion == "succeeded"
            await bench.plane.until(lambda: not bench.agent.slots.lives)
            assert bench.agent.journal.entries == []

    simulate(scenario)


def test_a_restarted_agent_adopts_a_running_job() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.supervisors.script = patient
        async with bench:
            job = await bench.plane.submit("long")
            await bench.plane.until(lambda: job.events)
            running = bench.supervisor(job.id)
            running.say(b"before\n")
            await bench.plane.until(lambda: job.log)
            bench.plane.hellos.clear()
            await bench.restart()
            await bench.plane.until(lambda: bench.plane.hellos)
            assert [(held.job_id, held.phase) for held in bench.plane.hellos[0].held] == [(job.id, "starting")]
            running.say(b"after\n")
            running.end()
            await bench.plane.until(lambda: job.result)
            assert bytes(job.log) == b"before\nafter\n"
            assert len(bench.supervisors.launched) == 1

    simulate(scenario)


def test_a_grant_whose_runner_died_before_the_launch_is_reported_as_ours_and_never_run() -> None:
    async def scenario() -> None:
        bench = Bench()

        def die() -> None:
            bench.transport.away = True
            raise asyncio.CancelledError

        bench.supervisors.before_launch = die
        async with bench:
            job = await bench.plane.submit("deploy", kind=JobKind.DEPLOYMENT)
            await bench.plane.until(lambda: job.starts)
            await asyncio.sleep(1)
            bench.transport.away = False
            await bench.restart()
            await bench.plane.until(lambda: job.result)
            assert bench.supervisors.launched == []
            assert job.result is not None
            assert job.result.failure is not None
            assert (job.result.failure.cause, job.result.failure.detail) == ("infrastructure", "agent_restarted")

    simulate(scenario)


def test_a_result_waits_in_the_outbox_over_a_restart_and_a_long_absence_of_the_server() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.supervisors.script = patient
        async with bench:
            job = await bench.plane.submit("long")
            await bench.plane.until(lambda: job.events)
            bench.transport.away = True
            bench.supervisor(job.id).say(b"done\n")
            bench.supervisor(job.id).end()
            await asyncio.sleep(3600)
            assert len(bench.agent.outbox) == 0  # the log comes first
            assert bench.agent.journal.entries[0].result is not None
            await bench.restart()
            await asyncio.sleep(23 * 3600)
            bench.transport.away = False
            async with asyncio.timeout(120):
                await bench.plane.until(lambda: job.result)
            assert bytes(job.log) == b"done\n"
            assert (job.state, job.starts) == ("succeeded", 1)

    simulate(scenario)


# Logs.


def test_first_bytes_leave_at_once_and_what_follows_is_gathered() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.supervisors.script = patient
        async with bench:
            job = await bench.plane.submit("chatty")
            await bench.plane.until(lambda: job.events)
            loop = asyncio.get_running_loop()
            began = loop.time()
            bench.supervisor(job.id).say(b"first\n")
            await bench.plane.until(lambda: job.log)
            assert loop.time() - began < 0.02
            for number in range(100):
                bench.supervisor(job.id).say(b"line %d\n" % number)
                await asyncio.sleep(0.005)
            bench.supervisor(job.id).end()
            await bench.plane.until(lambda: job.result)
            assert bench.plane.calls["append_log"] <= 25
            assert bytes(job.log).count(b"\n") == 101

    simulate(scenario)


def test_a_large_log_arrives_whole() -> None:
    async def scenario() -> None:
        bench = Bench()
        text = b"".join(b"line %d of a large log\n" % number for number in range(40_000))

        def talk(supervisor: FakeSupervisor) -> None:
            supervisor.say(text)
            supervisor.end()

        bench.supervisors.script = talk
        bench.plane.faults["append_log"].extend(
            [Fault("lost_reply"), Fault("problem", "frame_damaged"), Fault("lost_request")]
        )
        async with bench:
            job = await bench.plane.submit("large")
            await bench.plane.until(lambda: job.result)
            assert bytes(job.log) == text

    simulate(scenario)


def test_the_servers_offset_is_believed() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.plane.faults["append_log"].append(Fault("problem", "log_offset", expected=0))
        bench.plane.faults["finish"].append(Fault("problem", "log_incomplete", expected=0))
        async with bench:
            job = await bench.plane.submit("hello", "echo hello")
            await bench.plane.until(lambda: job.result)
            assert bytes(job.log) == b"echo hello\n"

    simulate(scenario)
