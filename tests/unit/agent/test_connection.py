"""Being connected: polls, pauses, the breaker, and the ways to leave."""

import asyncio

import pytest

from ostler.agent.errors import ProtocolRefused
from ostler.agent.metrics import contact, exposition
from ostler.agent.polling import PollRules
from ostler.domain.job import JobKind, Slot
from tests.unit.agent.control_plane import ControlPlane, Fault
from tests.unit.agent.fakes import Bench, patient
from tests.unit.client.simulated import simulate


def test_a_poll_is_held_and_answered_the_moment_there_is_work() -> None:
    async def scenario() -> None:
        async with Bench() as bench:
            await bench.agent.ready.wait()
            await asyncio.sleep(120)
            assert len(bench.plane.polls) <= 8
            loop = asyncio.get_running_loop()
            began = loop.time()
            job = await bench.plane.submit("now")
            await bench.plane.until(lambda: job.result)
            assert loop.time() - began < 0.5

    simulate(scenario)


@pytest.mark.parametrize(("override", "pause"), [(False, 7.0), (True, 60.0)])
def test_retry_after_supersedes_the_polling_interval_unless_overridden(override: bool, pause: float) -> None:
    """Rows 133 to 135."""

    async def scenario() -> None:
        plane = ControlPlane()
        plane.retry_after_ms = 7000
        async with Bench(plane, poll=PollRules(60.0, ignore_retry_after=override)) as bench:
            await bench.agent.ready.wait()
            await asyncio.sleep(600)
            assert abs(len(plane.polls) - 600 / pause) <= 2

    simulate(scenario)


def test_a_server_that_cannot_hold_polls_is_asked_at_the_polling_interval() -> None:
    """Row 76."""

    async def scenario() -> None:
        plane = ControlPlane()
        plane.hold = False
        async with Bench(plane) as bench:
            await bench.agent.ready.wait()
            await asyncio.sleep(3600)
            before = len(plane.polls)
            await asyncio.sleep(3600)
            assert 60 <= len(plane.polls) - before <= 125

    simulate(scenario)


def test_polls_that_end_early_now_and_then_do_not_make_a_runner_slow() -> None:
    async def scenario() -> None:
        async with Bench() as bench:
            await bench.agent.ready.wait()
            for _ in range(20):
                await asyncio.sleep(8)
                await bench.plane.hang_up()
            loop = asyncio.get_running_loop()
            began = loop.time()
            job = await bench.plane.submit("at once")
            await bench.plane.until(lambda: job.result)
            assert loop.time() - began < 1

    simulate(scenario)


def test_the_breaker_pauses_polls_and_a_heartbeat_ends_the_pause_when_the_server_returns() -> None:
    """Rows 141, 142, 293."""

    async def scenario() -> None:
        async with Bench() as bench:
            await bench.agent.ready.wait()
            bench.transport.away = True
            await bench.plane.poke()
            await asyncio.sleep(120)
            assert bench.agent.client.breaker.state == "open"
            bench.transport.away = False
            job = await bench.plane.submit("back")
            loop = asyncio.get_running_loop()
            began = loop.time()
            await bench.plane.until(lambda: job.result)
            assert loop.time() - began < 10

    simulate(scenario)


def test_a_restarted_server_has_its_runners_back_within_seconds() -> None:
    async def scenario() -> None:
        async with Bench() as bench:
            await bench.agent.ready.wait()
            bench.transport.away = True
            await bench.plane.poke()
            await asyncio.sleep(30)
            bench.transport.away = False
            hellos = len(bench.plane.hellos)
            loop = asyncio.get_running_loop()
            began = loop.time()
            await bench.plane.until(lambda: len(bench.plane.hellos) > hellos)
            assert loop.time() - began < 5

    simulate(scenario)


def test_errors_of_the_server_pause_the_polls_for_the_whole_timeout() -> None:
    async def scenario() -> None:
        async with Bench(breaker_seconds=600.0) as bench:
            await bench.agent.ready.wait()
            bench.plane.faults["claim"].extend([Fault("problem", "unavailable")] * 6)
            await bench.plane.submit("ignored")
            await asyncio.sleep(60)
            polls = len([name for name, _ in bench.plane.requests if name == "claim"])
            await asyncio.sleep(480)
            assert len([name for name, _ in bench.plane.requests if name == "claim"]) == polls
            await asyncio.sleep(120)
            assert bench.agent.client.breaker.state == "closed"

    simulate(scenario)


def test_one_primary_and_one_auxiliary_job_at_a_time() -> None:
    """Rows 80 to 82."""

    async def scenario() -> None:
        bench = Bench()
        bench.supervisors.script = patient
        async with bench:
            kinds = [JobKind.CI, JobKind.DEPLOYMENT, JobKind.INSIGHTS_SCAN, JobKind.POLICY_EVALUATION]
            jobs = [await bench.plane.submit(kind.value, kind=kind) for kind in kinds]
            await bench.plane.until(lambda: jobs[0].events and jobs[2].events)
            await asyncio.sleep(60)
            assert [job.state for job in jobs] == ["running", "queued", "running", "queued"]
            bench.supervisor(jobs[0].id).end()
            await bench.plane.until(lambda: jobs[1].events)
            assert jobs[3].state == "queued"

    simulate(scenario)


@pytest.mark.parametrize(
    ("kinds", "slots"), [((JobKind.DEPLOYMENT,), [Slot.PRIMARY]), ((JobKind.INSIGHTS_SCAN,), [Slot.AUXILIARY])]
)
def test_only_the_enabled_kinds_have_a_slot(kinds: tuple[JobKind, ...], slots: list[Slot]) -> None:
    """Rows 79 and 124."""

    async def scenario() -> None:
        async with Bench(job_kinds=kinds) as bench:
            await bench.plane.until(lambda: bench.plane.polls)
            assert bench.plane.polls[0].slots == slots
            assert bench.plane.hellos[0].job_kinds == list(kinds)

    simulate(scenario)


def test_hello_tells_system_tools_labels_and_names_of_variables_but_no_values() -> None:
    """Rows 159 to 162."""

    async def scenario() -> None:
        async with Bench(environment={"PROXY": "http://hidden"}, labels=("linux",)) as bench:
            job = await bench.plane.submit("env", env={"OWN": "1"})
            await bench.plane.until(lambda: job.result)
            hello = bench.plane.hellos[-1]
            assert hello.tools == {"git": "2.50.1", "node": "24.1.0"}
            assert (hello.system.cpus, hello.labels, hello.environment) == (2, ["linux"], ["PROXY"])
            assert bench.supervisors.launched[0].env == {"PROXY": "http://hidden", "OWN": "1"}

    simulate(scenario)


def test_hellos_are_numbered_over_restarts() -> None:
    async def scenario() -> None:
        bench = Bench()
        async with bench:
            await bench.agent.ready.wait()
            for _ in range(3):
                await bench.restart()
                await bench.agent.ready.wait()
            numbers = [hello.sequence for hello in bench.plane.hellos]
            assert numbers == sorted(set(numbers))
            assert numbers[0] == 1

    simulate(scenario)


def test_a_server_of_another_version_ends_the_agent_with_the_fix() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.plane.faults["hello"].append(Fault("problem", "version_unsupported"))
        async with bench:
            with pytest.raises(ProtocolRefused, match="protocol version"):
                await bench.ended()

    simulate(scenario)


# Leaving.


def test_drain_finishes_the_job_takes_no_other_and_says_bye() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.supervisors.script = patient
        async with bench:
            first = await bench.plane.submit("running")
            await bench.plane.until(lambda: first.events)
            bench.agent.drain()
            second = await bench.plane.submit("waiting")
            await asyncio.sleep(60)
            bench.supervisor(first.id).end()
            await bench.ended()
            assert (first.state, second.state, bench.plane.byes) == ("succeeded", "queued", 1)
            assert bench.supervisors.attempts == {}

    simulate(scenario)


def test_an_idle_runner_drains_at_once() -> None:
    async def scenario() -> None:
        async with Bench() as bench:
            await bench.agent.ready.wait()
            await asyncio.sleep(3)
            bench.agent.drain()
            await bench.ended()
            assert bench.plane.byes == 1

    simulate(scenario)


def test_a_second_signal_cancels_the_job_and_still_reports_it() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.supervisors.script = patient
        async with bench:
            job = await bench.plane.submit("running")
            await bench.plane.until(lambda: job.events)
            bench.agent.drain()
            bench.agent.cancel("the runner is being stopped")
            await bench.ended()
            assert job.state == "cancelled"

    simulate(scenario)


def test_detach_leaves_the_job_to_the_next_agent() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.supervisors.script = patient
        async with bench:
            job = await bench.plane.submit("running")
            await bench.plane.until(lambda: job.events)
            bench.agent.detach()
            await bench.ended()
            assert bench.plane.byes == 0
            assert not bench.supervisor(job.id).killed
            await bench.restart()
            bench.supervisor(job.id).end()
            await bench.plane.until(lambda: job.result)

    simulate(scenario)


def test_single_run_ends_after_one_job() -> None:
    """Rows 90 and 122."""

    async def scenario() -> None:
        async with Bench(single_run=True) as bench:
            first = await bench.plane.submit("first")
            second = await bench.plane.submit("second")
            await bench.ended()
            assert (first.state, second.state) == ("succeeded", "queued")

    simulate(scenario)


# What the health endpoint tells (rows 143, 144, 292).


def test_health_follows_the_contact_with_the_server() -> None:
    async def scenario() -> None:
        async with Bench() as bench:
            await bench.agent.ready.wait()
            clock = bench.effects.clock
            await asyncio.sleep(300)
            assert contact(bench.agent, clock, 120.0).ready
            bench.transport.away = True
            await asyncio.sleep(100)
            assert contact(bench.agent, clock, 120.0).healthy
            await asyncio.sleep(40)
            assert not contact(bench.agent, clock, 120.0).healthy
            text = exposition([bench.agent], clock, 120.0)
            assert 'ostler_agent_healthy{runner="test-runner"} 0' in text
            assert 'ostler_agent_breaker_open{runner="test-runner"} 1' in text

    simulate(scenario)
