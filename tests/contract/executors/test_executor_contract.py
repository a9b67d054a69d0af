"""What every executor promises; ``ostler.executors.contract`` says it in words."""

import contextlib
import os
import select
import signal
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from ostler.executors.errors import NetworkUnavailable, NotReady, SpawnFailed
from ostler.executors.values import Exit, Limits, Place
from tests.contract.executors.hosts import Host, run_apart

PLACE = Place(f"job_contract{os.getpid()}.1", Limits())


def wait(host: Host) -> Exit:
    while (ended := host.executor.poll()) is None:
        select.select([host.executor.descriptor], [], [])
    return ended


@contextlib.contextmanager
def opened(host: Host) -> Generator[None]:
    host.executor.open(PLACE)
    yield
    host.executor.close()


def code_and_output(host: Host) -> None:
    with opened(host):
        host.executor.start(host.command("hello"))
        ended = wait(host)
        assert (ended.code, ended.signal) == (3, None)
        assert os.read(host.output, 100) == b"hello\n"
        assert host.executor.poll() is None, "an end is told once"


def output_is_bytes(host: Host) -> None:
    with opened(host):
        host.executor.start(host.command("binary"))
        assert wait(host).code == 0
        assert os.read(host.output, 100) == b"\x00\xff\n"


def several_commands_and_jobs(host: Host) -> None:
    for _ in range(2):
        with opened(host):
            for _ in range(3):
                host.executor.start(host.command("silent"))
                assert wait(host).code == 0


def signal_ends_it(host: Host) -> None:
    with opened(host):
        host.executor.start(host.command("sleeper"))
        assert os.read(host.output, 100) == b"ready\n"
        host.executor.signal(signal.SIGINT)
        host.executor.signal(signal.SIGINT)
        assert wait(host).signal == signal.SIGINT
        host.executor.signal(signal.SIGINT)


def kill_ends_the_deaf(host: Host) -> None:
    with opened(host):
        host.executor.start(host.command("deaf"))
        assert os.read(host.output, 100) == b"ready\n"
        host.executor.signal(signal.SIGINT)
        host.executor.signal(signal.SIGTERM)
        assert host.executor.poll() is None
        host.executor.kill()
        host.executor.kill()
        assert wait(host).signal == signal.SIGKILL


def close_kills_what_is_left(host: Host) -> None:
    host.executor.open(PLACE)
    host.executor.start(host.command("daemon"))
    assert wait(host).code == 0
    assert os.read(host.output, 100) == b"left\n"
    assert len(host.executor.close()) == 1
    assert host.executor.close() == ()


def close_ends_the_foreground(host: Host) -> None:
    host.executor.open(PLACE)
    host.executor.start(host.command("deaf"))
    assert os.read(host.output, 100) == b"ready\n"
    host.executor.close()
    with opened(host):
        assert host.executor.poll() is None


def missing_program_is_an_error_and_no_end(host: Host) -> None:
    with opened(host):
        with pytest.raises(SpawnFailed, match="no-such-program"):
            host.executor.start(host.missing())
        host.executor.start(host.command("silent"))
        assert wait(host).code == 0


def order_of_calls(host: Host) -> None:
    with pytest.raises(NotReady):
        host.executor.start(host.command("silent"))
    with opened(host):
        with pytest.raises(NotReady):
            host.executor.open(PLACE)
        host.executor.start(host.command("sleeper"))
        with pytest.raises(NotReady):
            host.executor.start(host.command("silent"))
        host.executor.kill()
        wait(host)


def capabilities_before_and_after(host: Host) -> None:
    before = host.executor.capabilities()
    assert before.isolation == host.kind
    with opened(host):
        assert host.executor.capabilities().limits == before.limits
        assert host.executor.isolation == before.isolation
    assert "full" in before.networks
    host.executor.kill()
    host.executor.signal(signal.SIGTERM)
    host.executor.shutdown()


def a_network_is_kept_away_or_refused(host: Host) -> None:
    place = Place(PLACE.attempt, Limits(), "none")
    if "none" in host.executor.capabilities().networks:
        host.executor.open(place)
        host.executor.start(host.command("hello"))
        assert wait(host).code == 3
        host.executor.start(host.command("daemon"))
        assert wait(host).code == 0
        assert len(host.executor.close()) == 1
    else:
        with pytest.raises(NetworkUnavailable):
            host.executor.open(place)
    several_commands_and_jobs(host)


CASES: list[Callable[[Host], None]] = [
    code_and_output,
    output_is_bytes,
    several_commands_and_jobs,
    signal_ends_it,
    kill_ends_the_deaf,
    close_kills_what_is_left,
    close_ends_the_foreground,
    missing_program_is_an_error_and_no_end,
    order_of_calls,
    capabilities_before_and_after,
    a_network_is_kept_away_or_refused,
]


@pytest.mark.parametrize("kind", ["process", "scripted"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_executor(case: Callable[[Host], None], kind: str, tmp_path: Path) -> None:
    run_apart(case, kind, tmp_path)
