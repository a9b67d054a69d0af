"""On a system without Linux's doors, as macOS is: what cannot be done is left out or refused, and nothing breaks."""

import errno
import os
from pathlib import Path

import pytest

from ostler.agent.supervisor import removal
from ostler.executors import cgroup, kernel, network, tree
from ostler.executors.errors import LimitUnavailable, NetworkUnavailable
from ostler.executors.values import Limits


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    for name in ("O_PATH", "pidfd_open"):
        monkeypatch.delattr(os, name, raising=False)
    listdir = os.listdir

    def without_proc(path: str) -> list[str]:
        if path == "/proc":
            raise FileNotFoundError(path)
        return listdir(path)

    def unreadable(_path: str) -> bytes:
        return b""

    monkeypatch.setattr(os, "listdir", without_proc)
    monkeypatch.setattr(tree, "_read", unreadable)


def test_no_process_is_found_and_our_own_is_known_by_its_number() -> None:
    assert (tree.descendants(os.getpid()), tree.marked("job_1.1"), tree.name(1)) == ([], [], "")
    assert tree.start_time(os.getpid()) == ""
    assert tree.alive(os.getpid(), "")
    tree.kill_marked("job_1.1")


def test_a_process_is_killed_without_a_handle() -> None:
    pid = os.fork()
    if pid == 0:
        while True:
            os.read(os.pipe()[0], 1)
    ended: list[int] = []

    def living() -> list[int]:
        if not ended and os.waitpid(pid, os.WNOHANG)[0]:
            ended.append(pid)
        return [] if ended else [pid]

    assert tree.kill_all(living)


def test_limits_and_networks_are_refused() -> None:
    with pytest.raises(LimitUnavailable):
        cgroup.JobCgroup(cgroup.Cgroups([]), "job_1.1", Limits(pids=1))
    with pytest.raises(NetworkUnavailable):
        network.Loopback()
    assert not kernel.become_subreaper()
    assert not kernel.forbid_dumps()


def test_a_closed_directory_is_opened_by_its_name_and_never_through_a_link(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[object, ...]] = []

    def chmod(name: str, mode: int, *, dir_fd: int, follow_symlinks: bool) -> None:
        asked.append((name, mode, dir_fd, follow_symlinks))

    monkeypatch.setattr(os, "chmod", chmod)
    removal._unlock(7, "closed")
    assert asked == [("closed", 0o700, 7, False)]


def test_linux_without_proc_says_that_a_directory_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It must not look as if the directory were gone."""
    monkeypatch.undo()

    def chmod(path: str, _mode: int) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)

    monkeypatch.setattr(os, "chmod", chmod)
    (tmp_path / "closed").mkdir()
    parent = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(PermissionError, match="without /proc"):
            removal._unlock(parent, "closed")
    finally:
        os.close(parent)
