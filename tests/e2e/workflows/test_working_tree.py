"""What is told of a repository is what git has, in all the states in which people leave one."""

import os
import subprocess
from pathlib import Path

import pytest

from ostler.cli.local_run.working_tree import NO_COMMIT, changed_files, look
from tests.e2e.workflows.stage import GIT_ENVIRONMENT

ENVIRONMENT = {**os.environ, **GIT_ENVIRONMENT}


def git(folder: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    for number in (1, 2):
        (tmp_path / f"{number}.txt").write_text("x")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", f"commit {number}\n\nbody")
    return tmp_path


def test_a_commit_is_told_with_its_parent(repository: Path) -> None:
    tree = look(repository, "now", ENVIRONMENT)
    assert tree.sha == git(repository, "rev-parse", "HEAD").strip()
    assert tree.before == git(repository, "rev-parse", "HEAD~").strip()
    assert tree.commit is not None
    assert (tree.commit.message, tree.commit.author.name) == ("commit 2\n\nbody", "Mona")
    assert (tree.ref, tree.default_branch, tree.versioned) == ("refs/heads/main", "main", True)


def test_changed_files_are_those_of_the_commit_and_all_since(repository: Path) -> None:
    (repository / "1.txt").write_text("changed")
    (repository / "new").mkdir()
    (repository / "new/ä.txt").write_text("new")
    assert changed_files(look(repository, "now", ENVIRONMENT), ENVIRONMENT) == ["1.txt", "2.txt", "new/ä.txt"]


def test_a_repository_without_a_commit_has_a_branch(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    tree = look(tmp_path, "now", ENVIRONMENT)
    assert (tree.ref, tree.sha, tree.default_branch) == ("refs/heads/trunk", NO_COMMIT, "trunk")
    assert changed_files(tree, ENVIRONMENT) is None


def test_a_tag_that_is_checked_out_is_the_reference(repository: Path) -> None:
    git(repository, "tag", "v1")
    git(repository, "checkout", "-q", "--detach")
    tree = look(repository, "now", ENVIRONMENT)
    assert (tree.ref, tree.branch, tree.tags) == ("refs/tags/v1", "v1", ("v1",))


def test_a_folder_without_git_is_told_too(tmp_path: Path) -> None:
    tree = look(tmp_path, "now", ENVIRONMENT | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})
    assert (tree.versioned, tree.root, tree.repository) == (False, tmp_path, f"Mona/{tree.name}")


def test_the_default_branch_is_the_remotes(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "topic")
    git(repository, "update-ref", "refs/remotes/origin/develop", "HEAD")
    git(repository, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop")
    assert look(repository, "now", ENVIRONMENT).default_branch == "develop"


@pytest.mark.parametrize(
    ("url", "server", "name"),
    [
        ("git@github.com:octo/art.git", "https://github.com", "octo/art"),
        ("ssh://git@git.example:2222/octo/art", "https://git.example", "octo/art"),
        ("https://user:token@git.example:8443/group/octo/art.git", "https://git.example:8443", "octo/art"),
        ("http://git.example/octo/art/", "http://git.example", "octo/art"),
    ],
)
def test_the_remote_gives_server_and_names(repository: Path, url: str, server: str, name: str) -> None:
    git(repository, "remote", "add", "origin", url)
    tree = look(repository, "now", ENVIRONMENT)
    assert (tree.server, tree.repository) == (server, name)


def test_a_remote_that_is_a_folder_gives_no_names(repository: Path) -> None:
    git(repository, "remote", "add", "origin", "/srv/git/art.git")
    tree = look(repository, "now", ENVIRONMENT)
    assert (tree.server, tree.owner, tree.url) == ("https://github.com", "Mona", "")
