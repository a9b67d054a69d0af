"""The limits of a job, from the flag to the kernel."""

import pytest

from ostler.executors import cgroup, network
from tests.parts.installation import Installation

LIMITED = cgroup.discover().by_controller


def test_a_job_without_a_network_sees_its_loopback_alone(site: Installation) -> None:
    if fault := network.fault():
        pytest.skip(fault)
    submitted = site.ostler("job", "submit", "--network", "none", "--", "ls", "/proc/self/net/dev_snmp6")
    assert (submitted.status, submitted.out) == (0, "lo\n")


def test_every_limit_has_a_flag(site: Installation) -> None:
    if not {"memory", "cpu", "pids"} <= LIMITED.keys():
        pytest.skip("this host offers no cgroup controllers")
    limits = ("--memory", "64MiB", "--cpus", "1.5", "--pids", "200", "--disk", "1GiB")
    eater = "python3 -c 'x = bytearray(300 << 20)'"
    submitted = site.ostler("job", "submit", *limits, "--json", "--", "sh", "-c", eater)
    assert submitted.status != 0
    assert "out_of_memory" in submitted.out
    assert site.ostler("job", "submit", "--pids", "1", "--", "sh", "-c", "true & wait").status != 0


@pytest.mark.parametrize("wrong", [("--memory", "much"), ("--disk", "0"), ("--cpus", "0"), ("--pids", "-1")])
def test_a_limit_that_is_none_is_refused(site: Installation, wrong: tuple[str, str]) -> None:
    assert site.ostler("job", "submit", *wrong, "--", "true").status == 2
