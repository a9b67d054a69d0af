"""Checkout as a process, from a real git server."""

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.contract.actions.conftest import Machine
from tests.parts.git_server import GitServer, commit, git

TOKEN = "s3cret-token-of-the-job"


@pytest.fixture
def work(tmp_path: Path, git_server: GitServer) -> Path:
    """A repository with three commits, a branch and tags."""
    folder = tmp_path / "upstream"
    commit(folder, {"README.md": "one", "src/app.py": "print(1)"}, "first")
    git(folder, "tag", "-a", "v1", "-m", "first release")
    git(folder, "branch", "side")
    commit(folder, {"README.md": "two"}, "second")
    commit(folder, {"README.md": "three", "docs/a.md": "a", "src/run.sh": "echo"}, "third")
    git_server.publish(folder, "acme/app")
    return folder


@pytest.fixture
def ours(machine: Machine, work: Path, git_server: GitServer) -> Machine:
    return prepared(machine, work, git_server)


def prepared(machine: Machine, work: Path, server: GitServer) -> Machine:
    machine.environment["GITHUB_SHA"] = git(work, "rev-parse", "HEAD")
    machine.environment["GITHUB_SERVER_URL"] = server.url
    return machine


def test_the_commit_of_the_event_is_checked_out(ours: Machine, work: Path) -> None:
    ended = ours.ok("checkout")
    assert ours.files == ["README.md", "docs/a.md", "src/app.py", "src/run.sh"]
    assert (ours.workspace / "README.md").read_text() == "three"
    head = git(work, "rev-parse", "HEAD")
    assert ended.outputs == {"ref": "refs/heads/main", "commit": head}
    assert git(ours.workspace, "rev-parse", "HEAD", "origin/main").split() == [head, head]
    assert git(ours.workspace, "branch", "--show-current") == "main"
    assert git(ours.workspace, "status", "--porcelain") == ""


def test_one_commit_comes_without_its_history_unless_more_is_asked_for(ours: Machine) -> None:
    ours.ok("checkout")
    assert git(ours.workspace, "rev-list", "--count", "HEAD") == "1"
    assert git(ours.workspace, "rev-parse", "--is-shallow-repository") == "true"
    ours.ok("checkout", fetch_depth="2")
    assert git(ours.workspace, "rev-list", "--count", "HEAD") == "2"
    ours.ok("checkout", fetch_depth="0")
    assert git(ours.workspace, "rev-list", "--count", "HEAD") == "3"
    assert git(ours.workspace, "for-each-ref", "--format=%(refname)") == (
        "refs/heads/main\nrefs/remotes/origin/main\nrefs/remotes/origin/side\nrefs/tags/v1"
    )
    git(ours.workspace, "fsck", "--full")


def test_history_can_be_fetched_later(ours: Machine) -> None:
    ours.ok("checkout")
    git(ours.workspace, "fetch", "--quiet", "--unshallow", "origin")
    assert git(ours.workspace, "rev-list", "--count", "HEAD") == "3"
    git(ours.workspace, "fsck", "--full")


def test_everything_of_a_fresh_workspace(ours: Machine) -> None:
    ours.ok("checkout", fetch_depth="0")
    assert git(ours.workspace, "rev-parse", "--is-shallow-repository") == "false"
    assert git(ours.workspace, "rev-list", "--count", "HEAD") == "3"
    assert git(ours.workspace, "describe") == f"v1-2-g{git(ours.workspace, 'rev-parse', '--short', 'HEAD')}"


@pytest.mark.parametrize(("ref", "full"), [("side", "refs/heads/side"), ("v1", "refs/tags/v1"), ("refs/tags/v1", "")])
def test_branches_and_tags_by_name(ours: Machine, work: Path, ref: str, full: str) -> None:
    ended = ours.ok("checkout", ref=ref)
    assert (ours.workspace / "README.md").read_text() == "one"
    assert ended.outputs["commit"] == git(work, "rev-parse", f"{full or ref}^{{commit}}")
    assert git(ours.workspace, "rev-list", "--count", "HEAD") == "1"
    if "v1" in ref:
        assert git(ours.workspace, "describe", "--exact-match") == "v1"


def test_a_commit_by_its_id(ours: Machine, work: Path) -> None:
    second = git(work, "rev-parse", "HEAD~1")
    ended = ours.ok("checkout", ref=second)
    assert (ended.outputs["commit"], (ours.workspace / "README.md").read_text()) == (second, "two")


def test_a_pull_requests_merge_is_detached_under_its_own_name(ours: Machine, work: Path, git_server: GitServer) -> None:
    merged = commit(work, {"README.md": "merged"})
    git(work, "update-ref", "refs/pull/7/merge", merged)
    git_server.publish(work, "acme/app")
    ours.environment |= {"GITHUB_REF": "refs/pull/7/merge", "GITHUB_SHA": merged}
    ours.ok("checkout")
    assert git(ours.workspace, "rev-parse", "refs/remotes/pull/7/merge") == merged
    assert git(ours.workspace, "branch", "--show-current") == ""


def test_another_repository_beside_the_first(ours: Machine, tmp_path: Path, git_server: GitServer) -> None:
    commit(tmp_path / "library", {"lib.py": "x"})
    git(tmp_path / "library", "branch", "-m", "trunk")
    bare = git_server.publish(tmp_path / "library", "acme/library")
    git(bare, "symbolic-ref", "HEAD", "refs/heads/trunk")
    ours.ok("checkout")
    ended = ours.ok("checkout", repository="acme/library", path="vendor/library")
    assert "vendor/library/lib.py" in ours.files
    assert ended.outputs["ref"] == "refs/heads/trunk"


def test_what_one_job_fetched_the_next_does_not(
    machines: Callable[[str], Machine], work: Path, git_server: GitServer
) -> None:
    prepared(machines("one"), work, git_server).ok("checkout")
    assert git_server.fetches > 0
    git_server.requests.clear()
    second = prepared(machines("two"), work, git_server)
    second.ok("checkout")
    assert git_server.requests == []
    git(second.workspace, "fsck", "--full")


def test_jobs_that_fetch_at_the_same_time_wait_for_each_other(
    machines: Callable[[str], Machine], work: Path, git_server: GitServer
) -> None:
    jobs = [prepared(machines(f"job{number}"), work, git_server) for number in range(5)]
    with ThreadPoolExecutor(5) as pool:
        ended = [future.result() for future in [pool.submit(job.run, "checkout") for job in jobs]]
    assert [end.code for end in ended] == [0] * 5, [end.said for end in ended]
    assert git_server.fetches <= 2  # one conversation of git's protocol
    assert all((job.workspace / "README.md").read_text() == "three" for job in jobs)


def test_without_a_cache_it_is_fetched_directly(ours: Machine) -> None:
    ours.with_services(cache="")
    ours.ok("checkout")
    assert git(ours.workspace, "rev-list", "--count", "HEAD") == "1"


def test_credentials_reach_git_and_nobody_else(ours: Machine, git_server: GitServer) -> None:
    git_server.token = TOKEN
    refused = ours.run("checkout")
    assert refused.code == 1
    assert "set the secret GITHUB_TOKEN" in refused.said
    ended = ours.ok("checkout", token=TOKEN)
    config = (ours.workspace / ".git/config").read_text()
    assert TOKEN not in config
    assert "::add-mask::" + TOKEN in ended.said
    assert TOKEN not in "".join(line for line in ended.said.splitlines() if not line.startswith("::add-mask::"))
    git(ours.workspace, "fetch", "--quiet", "origin")
    kept = Path(ended.states["credentials"])
    assert kept.stat().st_mode & 0o777 == 0o600
    ours.ok("checkout", "post", ended.states)
    assert not kept.exists()
    assert "git-credentials" not in (ours.workspace / ".git/config").read_text()


def test_credentials_need_not_be_kept(ours: Machine, git_server: GitServer) -> None:
    git_server.token = TOKEN
    ended = ours.ok("checkout", token=TOKEN, persist_credentials="false")
    assert ended.states == {}
    with pytest.raises(AssertionError):
        git(ours.workspace, "-c", "core.askPass=true", "fetch", "--quiet", "origin")


def test_credentials_in_the_address_are_not_written_down(ours: Machine, git_server: GitServer) -> None:
    git_server.token = TOKEN
    url = git_server.url.replace("//", f"//x-access-token:{TOKEN}@")
    ours.with_services(clone_url=f"{url}/acme/app")
    ours.ok("checkout", persist_credentials="false")
    assert TOKEN not in (ours.workspace / ".git/config").read_text()


def test_only_some_folders(ours: Machine) -> None:
    ours.ok("checkout", sparse_checkout="docs\n")
    assert ours.files == ["README.md", "docs/a.md"]
    ours.ok("checkout", sparse_checkout="src/*.py", sparse_checkout_cone_mode="false")
    assert ours.files == ["src/app.py"]
    ours.ok("checkout")
    assert "docs/a.md" in ours.files


def test_a_filter_leaves_to_later_what_is_not_needed_yet(ours: Machine) -> None:
    ours.ok("checkout", filter="blob:none", fetch_depth="0")
    assert git(ours.workspace, "rev-list", "--count", "HEAD") == "3"
    assert git(ours.workspace, "show", "HEAD~2:README.md") == "one"


def test_tags_come_when_they_are_asked_for(ours: Machine) -> None:
    ours.ok("checkout", fetch_tags="true")
    assert git(ours.workspace, "tag") == "v1"


def test_a_second_checkout_cleans_and_one_may_be_told_not_to(ours: Machine) -> None:
    ours.ok("checkout")
    (ours.workspace / "README.md").write_text("changed")
    (ours.workspace / "built").write_text("x")
    ours.ok("checkout", clean="false")
    assert "built" in ours.files
    assert (ours.workspace / "README.md").read_text() == "three"
    ours.ok("checkout")
    assert "built" not in ours.files


def test_submodules(ours: Machine, work: Path, tmp_path: Path, git_server: GitServer) -> None:
    commit(tmp_path / "library", {"lib.py": "x"})
    git_server.publish(tmp_path / "library", "acme/library")
    (work / ".gitmodules").write_text('[submodule "library"]\n\tpath = vendor/library\n\turl = ../library\n')
    head = git(tmp_path / "library", "rev-parse", "HEAD")
    git(work, "add", ".gitmodules")
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{head},vendor/library")
    git(work, "commit", "--quiet", "-m", "submodule")
    git_server.publish(work, "acme/app")
    prepared(ours, work, git_server).ok("checkout")
    assert "vendor/library/lib.py" not in ours.files
    ours.ok("checkout", submodules="true")
    assert "vendor/library/lib.py" in ours.files


def test_hooks_of_whoever_do_not_run(ours: Machine, tmp_path: Path) -> None:
    template = tmp_path / "template/hooks"
    template.mkdir(parents=True)
    (template / "post-checkout").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (template / "post-checkout").chmod(0o755)
    home = Path(ours.environment["HOME"])
    (home / ".gitconfig").write_text(f"[init]\n\ttemplateDir = {template.parent}\n[core]\n\thooksPath = {template}\n")
    ours.ok("checkout")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"path": "../outside"}, "is not under"),
        ({"path": "/etc"}, "is not under"),
        ({"path": "link"}, "is not under"),
        ({"path": "a/.git/hooks"}, "inside a repository's .git"),
        ({"ssh_key": "x"}, "ssh-key is not supported"),
        ({"ref": "--upload-pack=touch"}, "is no branch"),
        ({"ref": "absent"}, "could not be found"),
        ({"ref": "b" * 40}, "git fetch"),
        ({"repository": "--x/../y"}, "Invalid repository"),
        ({"fetch_depth": "many"}, "fetch-depth"),
        ({"repository": "a/b", "github_server_url": "ext::sh -c x"}, "no address of a git server"),
        ({"repository": "a/b", "github_server_url": "-x"}, "no address of a git server"),
    ],
)
def test_what_cannot_be_is_refused(ours: Machine, inputs: dict[str, str], said: str) -> None:
    (ours.workspace / "link").symlink_to("/tmp")
    ended = ours.run("checkout", **inputs)
    assert ended.code == 1
    assert said in ended.said
    assert "::error::" in ended.said
    assert "Traceback" not in ended.said


def test_a_killed_fetch_leaves_a_usable_cache(
    machines: Callable[[str], Machine], work: Path, git_server: GitServer
) -> None:
    first = prepared(machines("one"), work, git_server)
    first.ok("checkout")
    mirror = next(Path(first.services.cache).glob("repositories/*/recent"))
    (mirror / "shallow.lock").write_text("")
    (mirror / "objects/pack/tmp_pack_killed").write_text("half a pa")
    commit(work, {"README.md": "four"})
    git_server.publish(work, "acme/app")
    second = prepared(machines("two"), work, git_server)
    second.ok("checkout")
    assert (second.workspace / "README.md").read_text() == "four"


def test_an_older_server_that_gives_no_single_commits(
    ours: Machine, work: Path, git_server: GitServer, tmp_path: Path
) -> None:
    bare = tmp_path / "served/acme/app"
    git(bare, "config", "uploadpack.allowAnySHA1InWant", "false")
    git(bare, "config", "protocol.version", "0")
    ours.ok("checkout")
    assert (ours.workspace / "README.md").read_text() == "three"


def test_nothing_secret_is_in_the_arguments_of_git(ours: Machine, git_server: GitServer, tmp_path: Path) -> None:
    git_server.token = TOKEN
    shim = tmp_path / "bin"
    shim.mkdir()
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    (shim / "git").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/arguments\nexec {real} "$@"\n')
    (shim / "git").chmod(0o755)
    ours.environment["PATH"] = f"{shim}:{ours.environment['PATH']}"
    ours.ok("checkout", token=TOKEN)
    arguments = (tmp_path / "arguments").read_text()
    assert "checkout" in arguments
    assert TOKEN not in arguments
    assert "basic" not in arguments.lower()
