"""Deleting what a job left, however hostile."""

import contextlib
import os
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from ostler.agent.supervisor import removal


@pytest.fixture
def parent(tmp_path: Path) -> Generator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def test_nothing_file_link_and_directory(tmp_path: Path, parent: int) -> None:
    removal.remove(parent, "nothing")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "link").symlink_to("kept")
    (tmp_path / "tree" / "a" / "b").mkdir(parents=True)
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "tree" / "a" / ".ostler-1").touch()
    os.mkfifo(tmp_path / "tree" / "a" / "fifo")
    removal.remove(parent, "link")
    removal.remove(parent, "tree")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept" / "file").exists()


def test_closed_directories(tmp_path: Path, parent: int) -> None:
    deep = tmp_path / "tree" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").touch()
    for mode, path in ((0o500, deep), (0o000, deep.parent), (0o400, tmp_path / "tree")):
        path.chmod(mode)
    removal.remove(parent, "tree")
    assert list(tmp_path.iterdir()) == []


def test_deeper_than_any_path(tmp_path: Path, parent: int) -> None:
    (tmp_path / "tree").mkdir()
    here = os.open(tmp_path / "tree", os.O_RDONLY)
    for _ in range(1_000):
        os.mkdir("deeper", dir_fd=here)
        below = os.open("deeper", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    removal.remove(parent, "tree")
    assert list(tmp_path.iterdir()) == []


def test_a_swapped_link_is_never_followed(tmp_path: Path, parent: int) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    over = threading.Event()

    def swap() -> None:
        tree = tmp_path / "tree"
        while not over.is_set():
            with contextlib.suppress(OSError):
                (tree / "x").mkdir()
            with contextlib.suppress(OSError):
                (tree / "x").rmdir()
                (tree / "x").symlink_to(precious)
                (tree / "x").unlink()

    swapper = threading.Thread(target=swap)
    (tmp_path / "tree").mkdir()
    swapper.start()
    try:
        for _ in range(2_000):
            (tmp_path / "tree").mkdir(exist_ok=True)
            removal.remove(parent, "tree")
    finally:
        over.set()
        swapper.join()
    assert (precious / "file").exists()


def test_another_users_files_become_ours(tmp_path: Path, parent: int) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    (tmp_path / "work" / "a").mkdir(parents=True)
    (tmp_path / "outside").touch()
    (tmp_path / "work" / "a" / "link").symlink_to(tmp_path / "outside")
    for path in (tmp_path / "outside", tmp_path / "work", tmp_path / "work" / "a"):
        os.chown(path, 1234, 1234)
    removal.take_over(parent, "work")
    assert {(tmp_path / "work").stat().st_uid, (tmp_path / "work" / "a").stat().st_uid} == {0}
    assert (tmp_path / "outside").stat().st_uid == 1234
