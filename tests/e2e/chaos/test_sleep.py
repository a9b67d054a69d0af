"""A machine that sleeps through its lease: its job runs elsewhere, and when it wakes it ends its own."""

import signal

import pytest

from tests.parts.installation import Installation, environment_of
from tests.parts.process import wait_until

_LEASE_SECONDS = 45


@pytest.mark.timeout(180)  # A lease is waited for: the server forgives what lapsed while it was away itself.
def test_a_scan_runs_elsewhere_and_the_woken_runner_ends_its_own(site: Installation) -> None:
    server = site.server()
    asleep = site.agent("asleep").connected()
    started = site.outside / "started"
    script = f"echo $OSTLER_FENCE >> {started}; echo begun; [ $OSTLER_FENCE = 2 ] || exec sleep 300; echo whole"
    job_id = site.submit(script, kind="insights_scan")
    site.until_logged(job_id, "begun")
    first = {pid for pid in asleep.process.descendants() if "OSTLER_ATTEMPT" in environment_of(pid)}
    assert first
    asleep.process.send(signal.SIGSTOP)
    awake = site.agent("awake").connected()
    job = site.until_ended(job_id, _LEASE_SECONDS + 45)
    assert (job["state"], job["fence"], job["runner_name"]) == ("succeeded", 2, "awake")
    assert site.log(job_id) == "begun\nwhole\n"
    assert started.read_text() == "1\n2\n"

    asleep.process.send(signal.SIGCONT)
    asleep.process.until_said('"event":"job_abandoned"')
    assert wait_until(lambda: not first & set(asleep.process.descendants()), 10)
    after = site.job(job_id)
    assert (after["state"], after["fence"]) == ("succeeded", 2)
    assert site.log(job_id) == "begun\nwhole\n"
    for runner in ("asleep", "awake"):
        other = site.submit("echo again", runner_name=runner)
        assert site.until_ended(other)["runner_name"] == runner
    assert awake.process.running
    assert server.process.running
