"""Which hierarchy does what, read from what the kernel tells a process about itself."""

from ostler.executors.cgroup import _mounted

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
