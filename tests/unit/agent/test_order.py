"""From the wire's specification to the supervisor's order: what the runner decides and what the job may wish for."""

import pytest

from ostler.agent.journal import Entry
from ostler.agent.order import job_order
from ostler.agent.supervision import ActionServices, Network
from ostler.domain.cause import Cause
from ostler.protocol.v1.spec import JobSpec, Limits, StepSpec
from tests.unit.agent.fakes import Bench
from tests.unit.client.simulated import simulate


@pytest.mark.parametrize("wish", ["full", "none"])
@pytest.mark.parametrize("allowed", ["full", "none"])
def test_of_the_jobs_and_the_runners_network_the_stricter_wins(wish: Network, allowed: Network) -> None:
    spec = JobSpec(name="job", steps=[StepSpec(name="step", argv=["true"])], network=wish)
    entry = Entry("job_1", 1, "granted", start_key="start", finish_key="finish")
    order = job_order(entry, spec, {}, "process", allowed, ActionServices())
    assert order.network == ("full" if wish == allowed == "full" else "none")


def test_only_a_job_that_asks_for_it_gets_its_token() -> None:
    services = ActionServices(server="https://ci.example", token="job-token")
    entry = Entry("job_1", 1, "granted", start_key="start", finish_key="finish")
    for asks in (False, True):
        spec = JobSpec(name="job", steps=[StepSpec(name="step", argv=["true"])], job_token=asks)
        order = job_order(entry, spec, {}, "process", "full", services)
        shown = {"OSTLER_URL": "https://ci.example", "OSTLER_JOB_TOKEN": "job-token"} if asks else {}
        assert (order.env, order.secrets) == (shown, ("job-token",) if asks else ())
        assert order.services == ActionServices()


def test_a_job_that_cannot_be_begun_fails_and_the_next_one_runs() -> None:
    async def scenario() -> None:
        async with Bench() as bench:
            job = await bench.plane.submit("endless", limits=Limits(cpus=1e308))
            await bench.plane.until(lambda: job.result)
            assert job.result is not None
            assert job.result.failure is not None
            assert (job.result.failure.cause, job.result.failure.detail) == (Cause.INFRASTRUCTURE, "agent_error")
            following = await bench.plane.submit("hello")
            await bench.plane.until(lambda: following.result)
            assert following.state == "succeeded"

    simulate(scenario)


def test_a_runner_without_a_network_gives_its_jobs_none() -> None:
    async def scenario() -> None:
        async with Bench(job_network="none") as bench:
            job = await bench.plane.submit("hello")
            await bench.plane.until(lambda: job.result)
            assert bench.supervisors.launched[0].network == "none"

    simulate(scenario)
