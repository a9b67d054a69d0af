"""Checkout in a local run: the working tree as it lies there."""

from pathlib import Path

import pytest

from tests.contract.actions.conftest import Machine
from tests.parts.git_server import commit, git


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A working tree with every kind of change."""
    folder = tmp_path / "source"
    commit(
        folder, {"a.txt": "old", "gone.txt": "x", "bin/run": "echo", ".gitignore": "build/\n*.log\n", "deep/b.txt": "b"}
    )
    commit(folder, {"a.txt": "committed"})
    git(folder, "remote", "add", "origin", "https://ada:password@git.example/acme/app")
    (folder / "a.txt").write_text("changed")
    (folder / "new.txt").write_text("untracked")
    (folder / "gone.txt").unlink()
    (folder / "bin/run").chmod(0o755)
    (folder / "link").symlink_to("a.txt")
    (folder / "build").mkdir()
    (folder / "build/out.o").write_text("ignored")
    (folder / "x.log").write_text("ignored")
    (folder / "staged.txt").write_text("staged")
    git(folder, "add", "staged.txt")
    return folder


@pytest.fixture
def ours(machine: Machine, source: Path) -> Machine:
    machine.with_services(source=str(source))
    machine.environment |= {"GITHUB_SHA": git(source, "rev-parse", "HEAD"), "GITHUB_SERVER_URL": "https://github.com"}
    return machine


def test_uncommitted_files_come_and_ignored_ones_do_not(ours: Machine) -> None:
    ended = ours.ok("checkout")
    assert ours.files == [".gitignore", "a.txt", "bin/run", "deep/b.txt", "link", "new.txt", "staged.txt"]
    assert (ours.workspace / "a.txt").read_text() == "changed"
    assert (ours.workspace / "bin/run").stat().st_mode & 0o111
    assert (ours.workspace / "link").is_symlink()
    assert ended.outputs == {"ref": "refs/heads/main", "commit": ours.environment["GITHUB_SHA"]}


def test_git_says_the_same_as_in_the_original(ours: Machine, source: Path) -> None:
    ours.ok("checkout")
    for arguments in (
        ("status", "--porcelain"),
        ("log", "--oneline"),
        ("rev-parse", "HEAD"),
        ("branch",),
        ("diff", "--cached"),
    ):
        assert git(ours.workspace, *arguments) == git(source, *arguments)
    assert git(ours.workspace, "remote", "get-url", "origin") == "https://git.example/acme/app"


def test_what_the_job_does_with_git_leaves_the_original_alone(ours: Machine, source: Path) -> None:
    before = git(source, "status", "--porcelain"), git(source, "for-each-ref")
    ours.ok("checkout")
    commit(ours.workspace, {"a.txt": "by the job"})
    git(ours.workspace, "gc", "--quiet", "--prune=now")
    assert (git(source, "status", "--porcelain"), git(source, "for-each-ref")) == before
    git(source, "fsck", "--full")


def test_it_goes_below_a_path_too(ours: Machine) -> None:
    ours.ok("checkout", path="sub")
    assert "sub/a.txt" in ours.files


def test_another_ref_comes_from_the_local_repository(ours: Machine, source: Path) -> None:
    git(source, "branch", "side", "HEAD~1")
    ours.ok("checkout", ref="side", path="old")
    assert (ours.workspace / "old/a.txt").read_text() == "old"


def test_a_workspace_inside_the_working_tree_is_not_copied_into_itself(ours: Machine, source: Path) -> None:
    ours.workspace = source / ".ostler/job/work"
    ours.workspace.mkdir(parents=True)
    ours.ok("checkout")
    assert not (ours.workspace / ".ostler").exists()


def test_a_folder_without_git_is_copied_whole(ours: Machine, tmp_path: Path) -> None:
    (tmp_path / "plain/sub").mkdir(parents=True)
    (tmp_path / "plain/sub/file").write_text("x")
    ours.with_services(source=str(tmp_path / "plain"))
    ours.environment["GITHUB_SHA"] = ""
    ours.ok("checkout")
    assert ours.files == ["sub/file"]


def test_a_linked_worktree_is_copied_like_any_other(ours: Machine, source: Path, tmp_path: Path) -> None:
    git(source, "worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "linked"))
    ours.with_services(source=str(tmp_path / "linked"))
    ours.ok("checkout")
    assert git(ours.workspace, "branch", "--show-current") == "feature"
    assert git(ours.workspace, "status", "--porcelain") == ""
