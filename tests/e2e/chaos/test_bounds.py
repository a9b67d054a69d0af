"""Jobs that take more than their share: they end alone, the cause is named, and the runner goes on."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.installation import Installation, environment_of
from tests.parts.process import wait_until

_as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system and limiting cgroups needs root")


@pytest.fixture
def small_disk(site: Installation) -> Iterator[Path]:
    """A file system of 192 MiB."""
    folder = site.directory / "small"
    folder.mkdir()
    subprocess.run(("mount", "-t", "tmpfs", "-o", "size=192m", "tmpfs", str(folder)), check=True)
    yield folder
    site.close_processes()
    subprocess.run(("umount", "-l", str(folder)), check=True)


def _goes_on(site: Installation, name: str) -> None:
    job_id = site.submit("echo still here", runner_name=name)
    assert site.until_ended(job_id)["state"] == "succeeded", site.job(job_id)
    assert site.log(job_id) == "still here\n"


@_as_root
def test_a_full_disk_fails_its_job_alone(site: Installation, small_disk: Path) -> None:
    site.server()
    agent = site.agent("small", state_directory=str(small_disk), minimum_free_disk="70MiB").connected()
    filling = "echo begun; seq 1 1000; dd if=/dev/zero of=big bs=1M count=500 2>/dev/null; echo unreachable; sleep 60"
    job_id = site.submit(filling)
    job = site.until_ended(job_id)
    assert job["state"] == "failed"
    assert (job["failure"]["cause"], job["failure"]["detail"]) == ("infrastructure", "disk_full"), job
    assert site.log(job_id).startswith("begun\n1\n2\n")
    assert "\n1000\n" in site.log(job_id)
    _goes_on(site, "small")
    assert agent.process.running


def test_a_daemon_tree_is_gone_with_its_job(site: Installation) -> None:
    site.server()
    agent = site.agent("one").connected()
    daemon = "setsid sh -c \"trap '' HUP INT TERM; (setsid sleep 300 &) ; sleep 300\" >/dev/null 2>&1 &"
    job_id = site.submit(f"{daemon} {daemon} sleep 0.3; echo done")
    assert site.until_ended(job_id)["state"] == "succeeded"
    assert not _of_jobs(agent.process.descendants())
    job_id = site.submit(f"{daemon} echo begun; exec sleep 300")
    site.until_logged(job_id, "begun")
    assert len(_of_jobs(agent.process.descendants())) > 1
    assert site.ostler("run", "cancel", site.job(job_id)["run_id"], "--wait").status == 0
    assert wait_until(lambda: not _of_jobs(agent.process.descendants()), 10)
    _goes_on(site, "one")


@_as_root
def test_a_fork_bomb_dies_alone(site: Installation) -> None:
    site.server()
    agent = site.agent("one").connected()
    bomb = "bomb() { bomb | bomb & bomb; }; bomb"
    job_id = site.submit(f"echo begun; {bomb}; sleep 300", limits={"pids": 60}, timeout_ms=3000)
    job = site.until_ended(job_id, 60)
    assert job["state"] == "failed"
    assert job["failure"]["cause"] in {"timed_out", "step_failed"}, job
    assert wait_until(lambda: not _of_jobs(agent.process.descendants()), 10)
    _goes_on(site, "one")


@_as_root
def test_a_job_out_of_memory_dies_alone_and_says_so(site: Installation) -> None:
    site.server()
    site.agent("one").connected()
    greedy = "echo begun; python3 -c 'print(len(bytearray(400 << 20)))'"
    job_id = site.submit(greedy, limits={"memory_bytes": 64 << 20})
    job = site.until_ended(job_id)
    assert (job["failure"]["cause"], job["failure"]["detail"]) == ("infrastructure", "out_of_memory"), job
    _goes_on(site, "one")


def test_a_revoked_runner_ends_its_job_and_is_heard_no_more(site: Installation) -> None:
    site.server()
    agent = site.agent("one").connected()
    job_id = site.submit("echo begun; exec sleep 300")
    site.until_logged(job_id, "begun")
    held = _of_jobs(agent.process.descendants())
    assert held
    assert site.ostler("runner", "revoke", "one", "--yes", "--note", "stolen").status == 0
    assert wait_until(lambda: not _of_jobs(agent.process.descendants()), 15)
    agent.process.until_said('"event":"identity_refused"')
    job = site.until_ended(job_id)
    assert (job["state"], job["failure"]["cause"]) == ("failed", "runner_lost")
    waiting = site.submit("true")
    assert site.job(waiting)["state"] == "queued"
    site.agent("two").connected()
    assert site.until_ended(waiting)["runner_name"] == "two"


def _of_jobs(pids: list[int]) -> list[int]:
    return [pid for pid in pids if "OSTLER_ATTEMPT" in environment_of(pid)]
