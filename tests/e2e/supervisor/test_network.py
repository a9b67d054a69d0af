"""A job without a network reaches nothing outside of itself, and all of its steps reach each other."""

import asyncio
import contextlib
import errno
import os
import socket
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from ostler.agent.supervision import JobOrder, Limits, StepOrder
from ostler.executors import cgroup, network, tree
from tests.e2e.supervisor.parts import JOB, order, run

PATH = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).close(); print('reached')"
SEND = """\
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
socket.socket(family, socket.SOCK_DGRAM).sendto(b"reached", (sys.argv[1], int(sys.argv[2])))
"""
SERVE = """\
import os, socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
waiting = socket.create_server((sys.argv[1], int(sys.argv[2])), family=family)
if os.fork() == 0:
    os.setsid()
    while True:
        waiting.accept()
"""
ABSTRACT = "import socket, sys; socket.socket(socket.AF_UNIX).connect('\\0' + sys.argv[1]); print('reached')"


@pytest.fixture(autouse=True)
def possible() -> None:
    if fault := network.fault():
        pytest.skip(fault)


def python(code: str, *arguments: object) -> StepOrder:
    """A step that must not run into another one's failure: it always runs."""
    argv = (sys.executable, "-c", code, *(str(argument) for argument in arguments))
    return StepOrder(name=code[:20], argv=argv, always=True)


def alone(*steps: StepOrder | str, limits: Limits | None = None) -> JobOrder:
    return order(*steps, env=PATH, network="none", limits=limits)


def outward_address() -> str:
    """This machine's address on its way out; without one, any that is not in 127/8 would do the same."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but the loopback's")
        return str(probe.getsockname()[0])


@contextlib.contextmanager
def listening(address: str, kind: socket.SocketKind) -> Generator[socket.socket]:
    """A socket of the host that waits for somebody."""
    with socket.socket(socket.AF_INET, kind) as waiting:
        waiting.bind((address, 0))
        if kind == socket.SOCK_STREAM:
            waiting.listen()
        waiting.setblocking(False)
        yield waiting


@pytest.mark.parametrize("where", ["outward", "loopback"])
def test_tcp_is_cut(where: str, tmp_path: Path) -> None:
    address = outward_address() if where == "outward" else "127.0.0.1"
    with listening(address, socket.SOCK_STREAM) as waiting:
        step = python(CONNECT, *waiting.getsockname())
        with_network, log, _ = asyncio.run(run(tmp_path / "full", order(step, env=PATH)))
        assert (with_network.conclusion, log) == ("succeeded", b"reached\n"), "the listener must be worth reaching"
        waiting.accept()[0].close()
        without, log, _ = asyncio.run(run(tmp_path / "none", alone(step)))
        assert without.cause == "step_failed", log
        assert os.strerror(errno.ENETUNREACH if where == "outward" else errno.ECONNREFUSED).encode() in log
        with pytest.raises(BlockingIOError):
            waiting.accept()


@pytest.mark.parametrize("where", ["outward", "loopback"])
def test_udp_is_cut(where: str, tmp_path: Path) -> None:
    address = outward_address() if where == "outward" else "127.0.0.1"
    with listening(address, socket.SOCK_DGRAM) as waiting:
        step = python(SEND, *waiting.getsockname())
        assert asyncio.run(run(tmp_path / "full", order(step, env=PATH)))[0].conclusion == "succeeded"
        assert waiting.recv(100) == b"reached", "the listener must be worth reaching"
        asyncio.run(run(tmp_path / "none", alone(step)))
        with pytest.raises(BlockingIOError):
            waiting.recv(100)


def test_names_and_the_metadata_service_are_out_of_reach(tmp_path: Path) -> None:
    """Neither a resolver, nor a cloud's metadata, nor the same by version 6 of the protocol."""
    steps = [
        python("import socket; socket.getaddrinfo('example.com', 80); print('reached')"),
        python(SEND, "192.0.2.1", 53),
        python(CONNECT, "169.254.169.254", 80),
        python(SEND, "fd00:ec2::254", 80),
    ]
    _, log, attempt = asyncio.run(run(tmp_path, alone(*steps)))
    ends = [event.conclusion for event in attempt.events(0) if event.kind == "step_finished"]
    assert ends == ["failed"] * len(steps), log
    assert b"reached" not in log


def test_the_hosts_abstract_sockets_are_out_of_reach(tmp_path: Path) -> None:
    name = f"ostler-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as waiting:
        waiting.bind("\0" + name)
        waiting.listen()
        assert asyncio.run(run(tmp_path / "full", order(python(ABSTRACT, name), env=PATH)))[0].cause == ""
        assert asyncio.run(run(tmp_path / "none", alone(python(ABSTRACT, name))))[0].cause == "step_failed"


def test_the_steps_of_a_job_share_a_loopback_and_a_daemon_dies_with_the_job(tmp_path: Path) -> None:
    for address in ("127.0.0.1", "::1"):
        steps = (python(SERVE, address, 7007), python(CONNECT, address, 7007))
        result, log, _ = asyncio.run(run(tmp_path / address.strip(":"), alone(*steps)))
        assert (result.conclusion, log.splitlines()[0]) == ("succeeded", b"reached"), log
        assert b"killed what the job left running: python" in log
        assert tree.marked(f"{JOB}.1") == []


def test_a_job_of_root_cannot_walk_out(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("an ordinary user has no such way to begin with")
    ways = [
        f"nsenter --net=/proc/{os.getpid()}/ns/net true",
        f"ip link add out type veth peer name in netns {os.getpid()}",
        "mount -t tmpfs tmpfs /mnt",
    ]
    tried = [StepOrder(name=way, script=way, shell="sh", always=True) for way in ways]
    _, log, attempt = asyncio.run(run(tmp_path, alone(*tried)))
    assert [one.conclusion for one in attempt.events(0) if one.kind == "step_finished"] == ["failed"] * 3, log


def test_limits_hold_in_there_too(tmp_path: Path) -> None:
    if "memory" not in cgroup.discover().by_controller:
        pytest.skip("this host offers no cgroup controller for memory")
    job = alone(python("x = bytearray(300 << 20)"), limits=Limits(memory_bytes=64 << 20))
    assert asyncio.run(run(tmp_path, job))[0].detail == "out_of_memory"
