"""``ostler action`` over a git server: lock, check, update, list."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ostler.cli.errors import CommandFailed
from ostler.cli.main import ostler
from tests.parts.git_server import GitServer, commit, git

COMPOSITE = """
name: outer
runs:
  using: composite
  steps:
    - uses: acme/inner/sub@main
    - run: echo
      shell: bash
"""
PLAIN = "name: inner\nruns:\n  using: composite\n  steps: [{run: echo, shell: bash}]\n"
WORKFLOW = """
on: push
jobs:
  build:
    runs-on: x
    steps:
      - uses: actions/checkout@v4
      - uses: ./local
      - uses: docker://alpine
  call:
    uses: acme/shared/.github/workflows/reused.yml@v1
"""
REUSED = "on: workflow_call\njobs:\n  a:\n    runs-on: x\n    steps: [{uses: acme/deep@v2}]\n"
LOCAL = "name: local\nruns:\n  using: composite\n  steps: [{uses: acme/outer@v1}]\n"


class Project:
    """A repository with workflows, on a machine whose mirror is a git server."""

    def __init__(self, folder: Path, server: GitServer, upstream: Path) -> None:
        self.folder = folder
        self.server = server
        self.upstream = upstream

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(ostler, ["action", *arguments, "--mirror", self.server.url])

    @property
    def lock(self) -> dict[str, dict[str, str]]:
        return json.loads((self.folder / ".github/actions.lock").read_text())["actions"]

    def publish(self, name: str, files: dict[str, str | None], tag: str = "") -> None:
        work = self.upstream / name
        commit(work, files)
        if tag:
            git(work, "tag", "--force", tag)
        self.server.publish(work, f"acme/{name}")


@pytest.fixture
def project(tmp_path: Path, git_server: GitServer, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Project(tmp_path / "project", git_server, tmp_path / "upstream")
    for name, text in ((".github/workflows/ci.yml", WORKFLOW), ("local/action.yml", LOCAL)):
        path = made.folder / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    monkeypatch.chdir(made.folder)
    made.publish("outer", {"action.yml": COMPOSITE}, "v1")
    made.publish("inner", {"sub/action.yml": PLAIN})
    made.publish("shared", {".github/workflows/reused.yml": REUSED}, "v1")
    made.publish("deep", {"action.yml": PLAIN}, "v2")
    return made


def test_everything_that_is_used_is_locked_wherever_it_is_named(project: Project) -> None:
    ended = project.run("lock")
    assert ended.exit_code == 0, ended.output
    assert sorted(project.lock) == ["acme/deep@v2", "acme/inner@main", "acme/outer@v1", "acme/shared@v1"]
    locked = project.lock["acme/outer@v1"]
    assert locked["digest"].startswith("sha256:")
    assert locked["commit"] == git(project.upstream / "outer", "rev-parse", "HEAD")
    assert project.run("lock", "--check").exit_code == 0


def test_a_moved_tag_is_refused_until_it_is_wanted(project: Project) -> None:
    project.run("lock")
    before = project.lock
    project.publish("deep", {"evil.sh": "x"}, "v2")
    checked = project.run("lock", "--check")
    assert checked.exit_code == 1
    assert "moved  acme/deep@v2" in checked.output
    assert project.lock == before
    assert project.run("lock").exit_code == 0
    assert project.lock == before
    assert project.run("lock", "--update").exit_code == 0
    assert project.lock["acme/deep@v2"] != before["acme/deep@v2"]


def test_what_is_no_longer_used_leaves_the_file(project: Project) -> None:
    project.run("lock")
    (project.folder / "local/action.yml").write_text(PLAIN)
    assert "unused  acme/outer@v1" in project.run("lock", "--check").output
    project.run("lock")
    assert "acme/outer@v1" not in project.lock


def test_what_cannot_be_found_is_named_with_its_place(project: Project) -> None:
    (project.folder / "local/action.yml").write_text(LOCAL.replace("acme/outer@v1", "acme/absent@v1"))
    ended = project.run("lock")
    assert isinstance(ended.exception, CommandFailed)
    assert "acme/absent@v1" in str(ended.exception)
    assert not (project.folder / ".github/actions.lock").exists()


def test_the_list_says_what_is_built_in_and_what_is_locked(project: Project) -> None:
    project.run("lock")
    listed = json.loads(CliRunner().invoke(ostler, ["action", "list", "--json"]).output)
    states = {row["uses"]: row["state"] for row in listed}
    assert states == {
        "actions/checkout@v4": "built in",
        "acme/outer@v1": "locked",
        "acme/shared/.github/workflows/reused.yml@v1": "locked",
    }


def test_a_broken_lock_file_is_refused(project: Project) -> None:
    (project.folder / ".github/actions.lock").write_text('{"version": 1, "actions": {"a/b@c": {"digest": "md5:1"}}}')
    ended = project.run("lock")
    assert isinstance(ended.exception, CommandFailed)
    assert ended.exception.code == "action_lock"


def test_a_folder_without_workflows_is_refused(project: Project, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ended = project.run("lock", str(tmp_path / "empty"))
    assert isinstance(ended.exception, CommandFailed)
    assert ended.exception.code == "no_workflows"
    assert not list((tmp_path / "empty").iterdir())
