"""A network of one's own: who can make one, as whom its processes run, and what happens where nobody can."""

import importlib
import os
import select
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ostler.executors import kernel, loopback, network
from ostler.executors.errors import NetworkUnavailable
from ostler.executors.values import Command, Exit, Limits, Place
from tests.contract.executors.hosts import ENVIRONMENT, Host, run_apart

PLACE = Place(f"job_network{os.getpid()}.1", Limits(), "none")
NOBODY = 65534
_SYS_ADMIN = 21
INTERFACES = "import os, socket; print(os.geteuid(), os.getegid(), [name for _, name in socket.if_nameindex()])"


def run_interfaces(host: Host) -> tuple[Exit, bytes]:
    host.executor.open(PLACE)
    host.executor.start(Command([sys.executable, "-c", INTERFACES], ENVIRONMENT, "/", host.pipe))
    while (ended := host.executor.poll()) is None:
        select.select([host.executor.descriptor], [], [])
    host.executor.close()
    return ended, os.read(host.output, 1000)


def demand_network() -> None:
    if fault := network.fault():
        pytest.skip(fault)


def as_ourselves(host: Host) -> None:
    ended, text = run_interfaces(host)
    assert (ended.code, text) == (0, f"{os.geteuid()} {os.getegid()} ['lo']\n".encode())


def without_capabilities(host: Host) -> None:
    """As root in a container: its user namespace makes the difference."""
    kernel.renounce(_SYS_ADMIN)
    as_ourselves(host)


def as_nobody(host: Host) -> None:
    """From copies in places that everybody may look into; a checkout often is none."""
    loopback.__file__ = shutil.copy(loopback.__file__, host.directory)
    sys.executable = shutil.which("python3", path=os.defpath) or sys.executable
    importlib.import_module("resource")  # what os.wait4 loads when it is first called, from where nobody may look
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    kernel.forbid_dumps()
    as_ourselves(Host("process", host.directory))


def without_the_right(host: Host) -> None:
    maker = host.directory / "maker.py"
    maker.write_text("import socket, sys\nsocket.socket(fileno=int(sys.argv[1])).send(b'the kernel refused: no')\n")
    loopback.__file__ = str(maker)
    with pytest.raises(NetworkUnavailable, match="the kernel refused: no"):
        host.executor.open(PLACE)
    maker.write_text("")
    with pytest.raises(NetworkUnavailable, match="without a word"):
        host.executor.open(PLACE)
    capabilities = host.executor.capabilities()
    assert capabilities.networks == {"full"}
    assert any("kept from the network" in note for note in capabilities.notes)
    host.executor.open(Place(PLACE.attempt, Limits()))
    host.executor.close()
    assert host.executor.cgroup_paths == []


@pytest.mark.parametrize(
    "case", [as_ourselves, without_capabilities, as_nobody, without_the_right], ids=lambda case: case.__name__
)
def test_network(case: Callable[[Host], None]) -> None:
    if case is not without_the_right:
        demand_network()
    if case in (without_capabilities, as_nobody) and os.geteuid() != 0:
        pytest.skip("only root can give that up")
    with tempfile.TemporaryDirectory() as directory:
        public = Path(directory)
        public.chmod(0o755)
        run_apart(case, "process", public)


def test_elsewhere_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert network.fault() == "only Linux can keep a job from the network"
