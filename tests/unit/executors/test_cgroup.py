"""Which hierarchy does what, read from what the kernel tells a process about itself."""

import os
from pathlib import Path

import pytest

from ostler.executors.cgroup import _mounted, delegate

V2 = "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID = """\
30 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
31 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
32 23 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
33 23 0:30 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
34 23 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
35 23 0:32 / /tmp rw - tmpfs tmpfs rw
"""


def test_version_2() -> None:
    (one,) = _mounted(V2, {"": "/system.slice/ostler.service"})
    assert one.version == 2
    assert one.home == "/sys/fs/cgroup/system.slice/ostler.service"
    assert one.base == "/sys/fs/cgroup/system.slice/ostler.service"


def test_version_2_after_delegation() -> None:
    (one,) = _mounted(V2, {"": "/system.slice/ostler.service/ostler-agent"})
    assert one.base == "/sys/fs/cgroup/system.slice/ostler.service"


def test_hybrid() -> None:
    places = {"": "/", "memory": "/a", "cpu": "/", "cpuacct": "/", "pids": "/a/b", "name=systemd": "/"}
    found = {one.home: one for one in _mounted(HYBRID, places)}
    assert set(found) == {
        "/sys/fs/cgroup/memory/a",
        "/sys/fs/cgroup/cpu,cpuacct",
        "/sys/fs/cgroup/pids/a/b",
        "/sys/fs/cgroup/systemd",
        "/sys/fs/cgroup/unified",
    }
    assert {home for home, one in found.items() if one.version == 2} == {"/sys/fs/cgroup/unified"}
    assert "cpu" in found["/sys/fs/cgroup/cpu,cpuacct"].controllers


def test_container_sees_its_own_part() -> None:
    mounts = "30 23 0:27 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
    (one,) = _mounted(mounts, {"memory": "/docker/abc/inner"})
    assert one.home == "/sys/fs/cgroup/memory/inner"


def test_none() -> None:
    assert _mounted("", {}) == []
    assert _mounted(V2, {"memory": "/"}) == []


class Host:
    """What the kernel shows of one version 2 hierarchy, as files, and a service in it."""

    def __init__(self, root: Path, place: str) -> None:
        self.process = root / "proc"
        self.service = root / "fs" / "ostler.service"
        self.leaf = self.service / "ostler-agent"
        self.process.mkdir()
        self.leaf.mkdir(parents=True)
        (self.process / "cgroup").write_text(f"0::{place}\n")
        (self.process / "mountinfo").write_text(f"29 23 0:26 / {root / 'fs'} rw - cgroup2 cgroup2 rw\n")
        (self.service / "cgroup.controllers").write_text("cpu memory pids io\n")
        (self.service / "cgroup.procs").write_text("4711\n")
        for name in ("cgroup.subtree_control", "ostler-agent/cgroup.procs", "ostler-agent/cgroup.subtree_control"):
            (self.service / name).touch()

    def hand_over(self) -> None:
        try:
            os.setxattr(self.service, "user.delegate", b"1")
        except OSError as reason:
            pytest.skip(f"this file system has no extended attributes: {reason}")

    @property
    def moved(self) -> str:
        return (self.leaf / "cgroup.procs").read_text()

    @property
    def controllers(self) -> set[str]:
        return set((self.service / "cgroup.subtree_control").read_text().split())


def test_a_service_moves_into_a_leaf_and_hands_controllers_down(tmp_path: Path) -> None:
    host = Host(tmp_path, "/ostler.service")
    host.hand_over()
    delegate(str(host.process))
    assert host.moved == "4711"
    assert host.controllers == {"+memory", "+cpu", "+pids"}


def test_a_service_that_began_in_the_leaf_stays_there(tmp_path: Path) -> None:
    host = Host(tmp_path, "/ostler.service/ostler-agent")
    host.hand_over()
    delegate(str(host.process))
    assert host.moved == ""
    assert host.controllers == {"+memory", "+cpu", "+pids"}
    assert not (host.leaf / "ostler-agent").exists()


def test_a_cgroup_that_nobody_handed_over_is_left_alone(tmp_path: Path) -> None:
    host = Host(tmp_path, "/ostler.service")
    delegate(str(host.process))
    assert host.moved == ""
    assert host.controllers == set()
