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


def read_all(host: Host, expected: bytes) -> None:
    text = b""
    while len(text) < len(expected):
        text += os.read(host.output, 100)
    assert text == expected


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
        handle = host.executor.start(host.command("sleeper"))
        assert os.read(host.output, 100) == b"ready\n"
        host.executor.signal(handle, signal.SIGINT)
        host.executor.signal(handle, signal.SIGINT)
        ended = wait(host)
        assert (ended.handle, ended.signal) == (handle, signal.SIGINT)
        host.executor.signal(handle, signal.SIGINT)
        host.executor.kill_one(handle)


def commands_run_side_by_side(host: Host) -> None:
    with opened(host):
        handles = [host.executor.start(host.command("sleeper")) for _ in range(3)]
        assert len(set(handles)) == 3
        read_all(host, b"ready\n" * 3)
        assert host.executor.poll() is None
        host.executor.signal(handles[1], signal.SIGTERM)
        ended = wait(host)
        assert (ended.handle, ended.signal) == (handles[1], signal.SIGTERM)
        assert host.executor.poll() is None
        host.executor.kill_one(handles[0])
        ended = wait(host)
        assert (ended.handle, ended.signal) == (handles[0], signal.SIGKILL)
        fresh = host.executor.start(host.command("hello"))
        assert fresh not in handles
        ended = wait(host)
        assert (ended.handle, ended.code) == (fresh, 3)
        host.executor.kill()
        assert wait(host).handle == handles[2]
        assert host.executor.poll() is None


def ends_are_told_one_by_one(host: Host) -> None:
    with opened(host):
        handles = {host.executor.start(host.command(name)) for name in ("hello", "silent", "hello")}
        assert {wait(host).handle for _ in range(3)} == handles
        assert host.executor.poll() is None


def kill_ends_the_deaf(host: Host) -> None:
    with opened(host):
        handle = host.executor.start(host.command("deaf"))
        assert os.read(host.output, 100) == b"ready\n"
        host.executor.signal(handle, signal.SIGINT)
        host.executor.signal(handle, signal.SIGTERM)
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
    with opened(host), pytest.raises(NotReady):
        host.executor.open(PLACE)


def capabilities_before_and_after(host: Host) -> None:
    before = host.executor.capabilities()
    assert before.isolation == host.kind
    with opened(host):
        assert host.executor.capabilities().limits == before.limits
        assert host.executor.isolation == before.isolation
    assert "full" in before.networks
    host.executor.kill()
    host.executor.signal(1, signal.SIGTERM)
    host.executor.kill_one(1)
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
    commands_run_side_by_side,
    ends_are_told_one_by_one,
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
