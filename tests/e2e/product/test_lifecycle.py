"""Stopping and starting: what goes on while parts of an installation come and go, as an operator makes them."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.installation import Installation, gated
from tests.parts.s3 import S3Server


@pytest.fixture
def site() -> Iterator[Installation]:
    """An installation that the test may stop."""
    with Installation() as installation:
        yield installation


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)], ids=["stopped", "killed"]
)
def test_a_job_goes_on_while_ostler_up_restarts(
    site: Installation, gate: Path, number: signal.Signals, status: int
) -> None:
    server = site.up(runners=2)
    count = site.outside / "count"
    job_id = site.submit(f"echo x >> {count}; seq 1 50; {gated(gate)}; seq 51 100")
    run_id = site.job(job_id)["run_id"]
    site.until_logged(job_id, "begun")
    watching = site.start("run", "watch", run_id)
    watching.until_said("begun")
    server.process.send(number)
    assert server.process.wait() == status
    server.start()
    server.process.until_said('"event":"job_adopted"')
    gate.touch()
    job = site.until_ended(job_id)
    assert (job["state"], job["fence"]) == ("succeeded", 1)
    expected = [*map(str, range(1, 51)), "begun", "passed", *map(str, range(51, 101))]
    assert site.log(job_id).splitlines() == expected
    assert count.read_text() == "x\n"
    assert watching.wait() == 0
    assert [line for line in watching.text.splitlines() if line in expected] == expected


def test_a_stopped_agent_finishes_its_job_and_a_second_signal_cancels_it(site: Installation, gate: Path) -> None:
    site.server()
    agent = site.agent("patient").connected()
    job_id = site.submit(gated(gate))
    site.until_logged(job_id, "begun")
    agent.process.send(signal.SIGTERM)
    agent.process.until_said('"event":"draining"')
    gate.touch()
    assert agent.process.wait() == 0
    assert site.job(job_id)["state"] == "succeeded"
    assert site.get("/api/v1/runners/patient")["status"] == "offline"

    agent.start()
    agent.connected()
    job_id = site.submit("echo begun; exec sleep 60")
    site.until_logged(job_id, "begun")
    agent.process.send(signal.SIGTERM)
    agent.process.until_said('"event":"draining"')
    agent.process.send(signal.SIGTERM)
    assert agent.process.wait() == 0
    job = site.job(job_id)
    assert (job["state"], job["failure"]["cause"]) == ("cancelled", "cancelled")
    assert job["failure"]["evidence"] == "the runner is being stopped"


def test_a_stopping_server_cuts_nobody_off(site: Installation, gate: Path) -> None:
    server = site.server()
    site.agent("steady").connected()
    job_id = site.submit(gated(gate))
    site.until_logged(job_id, "begun")
    watching = site.start("run", "watch", site.job(job_id)["run_id"])
    watching.until_said("begun")
    server.process.send(signal.SIGTERM)
    assert server.process.wait(15) == 0
    gate.touch()
    server.start()
    assert site.until_ended(job_id)["state"] == "succeeded"
    assert watching.wait() == 0
    assert "Traceback" not in server.process.text


@pytest.mark.postgres
def test_two_replicas_behave_as_one(postgres_database: str, s3_server: S3Server, gate: Path) -> None:
    with Installation(database=postgres_database, blobs=s3_server.new_blobs_url()) as site:
        a, b = site.server("a"), site.server("b")
        site.agent("on-b", b).connected()
        job_id = site.submit(f"seq 1 2000; {gated(gate)}; seq 2001 4000", url=a.url)
        run_id = site.job(job_id)["run_id"]
        watching = site.start("run", "watch", run_id)
        watching.until_said("begun")
        gate.touch()
        assert watching.wait() == 0
        expected = [*map(str, range(1, 2001)), "begun", "passed", *map(str, range(2001, 4001))]
        assert [line for line in watching.text.splitlines() if line in expected] == expected

        # A cancellation that is given to one replica reaches the runner that is connected to the other.
        job_id = site.submit("echo begun; exec sleep 60", url=a.url)
        site.until_logged(job_id, "begun")
        cancelled = site.ostler("run", "cancel", site.job(job_id)["run_id"], "--wait", url=a.url)
        assert cancelled.status == 0
        job = site.job(job_id)
        assert job["state"] == "cancelled"

        # Either replica may go: what it held is served by the other.
        a.process.kill()
        job_id = site.submit("echo after", url=b.url)
        site.until("the job succeeded", lambda: site.get(f"/api/v1/jobs/{job_id}", url=b.url)["state"] == "succeeded")
