"""Actions from a real git server: what is fetched, what is not fetched twice, and what is refused."""

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ostler.actions.library import Found, Library, Remote, Source, open_sources
from ostler.actions.library.git_source import GitSource
from ostler.domain.machine import Refused
from tests.parts.git_server import GitServer, commit, git

METADATA = "name: hello\ndescription: x\nruns:\n  using: composite\n  steps: [{run: echo hello, shell: bash}]\n"
HELLO = Remote("acme", "hello", "", "v1")


@pytest.fixture
def upstream(tmp_path: Path, git_server: GitServer) -> Path:
    folder = tmp_path / "upstream"
    commit(
        folder,
        {"action.yml": METADATA, "sub/action.yml": METADATA, ".gitattributes": "*.md export-ignore\n*.txt eol=crlf\n"},
    )
    commit(folder, {"README.md": "r", "a.txt": "one\n", "run.sh": "echo"})
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("run.sh")
    commit(folder, {})
    git(folder, "tag", "-a", "v1", "-m", "one")
    git(folder, "branch", "stable")
    git_server.publish(folder, "acme/hello")
    return folder


def library(tmp_path: Path, *sources: Source, job: str = "job", pins: dict[str, str] | None = None) -> Library:
    return Library(cache=tmp_path / "cache", into=tmp_path / job, sources=sources, pins=pins)


def found(library: Library, remote: Remote) -> Found:
    answer = library.find(remote)
    assert isinstance(answer, Found), answer
    return answer


@pytest.mark.parametrize("ref", ["v1", "stable", "main", "refs/heads/main", "refs/tags/v1"])
def test_tags_and_branches_are_fetched(tmp_path: Path, upstream: Path, git_server: GitServer, ref: str) -> None:
    answer = found(library(tmp_path, GitSource(git_server.url)), HELLO._replace(ref=ref))
    assert answer.commit == git(upstream, "rev-parse", "HEAD")
    names = sorted(path.relative_to(answer.directory).as_posix() for path in answer.directory.rglob("*"))
    assert names == [".gitattributes", "README.md", "a.txt", "action.yml", "link", "run.sh", "sub", "sub/action.yml"]
    assert (answer.directory / "a.txt").read_bytes() == b"one\n"
    assert (answer.directory / "run.sh").stat().st_mode & 0o111
    assert (answer.directory / "link").readlink() == Path("run.sh")


def test_one_commit_has_one_digest_wherever_it_comes_from(
    tmp_path: Path, upstream: Path, git_server: GitServer
) -> None:
    by_git = found(library(tmp_path / "a", GitSource(git_server.url + "/{owner}/{repo}")), HELLO)
    by_file = found(library(tmp_path / "b", *open_sources([str(tmp_path / "served")])), HELLO)
    folder = tmp_path / "copies/acme"
    folder.mkdir(parents=True)
    git(tmp_path, "clone", "--quiet", str(upstream), str(folder / "hello@v1"))
    git(folder / "hello@v1", "config", "core.autocrlf", "false")
    (folder / "hello@v1/a.txt").write_bytes(b"one\n")
    by_folder = found(library(tmp_path / "c", *open_sources([str(tmp_path / "copies")])), HELLO)
    assert by_git.digest == by_file.digest == by_folder.digest


def test_a_commit_is_fetched_once_whatever_names_it(tmp_path: Path, upstream: Path, git_server: GitServer) -> None:
    source = GitSource(git_server.url)
    found(library(tmp_path, source, job="one"), HELLO)
    fetches = git_server.fetches
    found(library(tmp_path, source, job="two"), HELLO)
    found(library(tmp_path, source, job="three"), HELLO._replace(ref="stable", path="sub"))
    asked = len(git_server.requests)
    found(library(tmp_path, source, job="four"), HELLO._replace(ref=git(upstream, "rev-parse", "HEAD")))
    assert len(git_server.requests) == asked
    assert git_server.fetches - fetches <= 4  # asking what the refs are; no pack
    assert len(list((tmp_path / "cache/trees").iterdir())) == 1


def test_a_branch_that_moved_is_followed_and_a_locked_one_is_refused(
    tmp_path: Path, upstream: Path, git_server: GitServer
) -> None:
    source = GitSource(git_server.url)
    main = HELLO._replace(ref="main")
    first = found(library(tmp_path, source, job="one"), main)
    commit(upstream, {"new": "x"})
    git_server.publish(upstream, "acme/hello")
    second = found(library(tmp_path, source, job="two"), main)
    assert second.digest != first.digest
    locked = found(library(tmp_path, source, job="three", pins={main.text: first.digest}), main)
    assert locked.digest == first.digest
    moved = library(tmp_path / "elsewhere", source, pins={main.text: first.digest}).find(main)
    assert isinstance(moved, Refused)
    assert moved.code == "action_moved"


def test_jobs_that_need_the_same_at_once_fetch_it_once(tmp_path: Path, upstream: Path, git_server: GitServer) -> None:
    def find(number: int) -> Found | Refused:
        return library(tmp_path, GitSource(git_server.url), job=f"job{number}").find(HELLO)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(find, range(6)))
    assert len({answer.digest for answer in answers if isinstance(answer, Found)}) == 1
    assert all(isinstance(answer, Found) for answer in answers)
    # Six questions what the tag is, and one conversation that fetches.
    assert git_server.fetches <= 6 + 2


@pytest.mark.parametrize(
    "remote",
    [
        Remote("acme", "absent", "", "v1"),
        HELLO._replace(ref="v9"),
        HELLO._replace(ref="d" * 40),
        HELLO._replace(path="no"),
    ],
)
def test_what_is_not_there_is_refused(tmp_path: Path, upstream: Path, git_server: GitServer, remote: Remote) -> None:
    refused = library(tmp_path, GitSource(git_server.url)).find(remote)
    assert isinstance(refused, Refused)
    assert refused.code == "action_not_found"


def test_the_next_source_is_asked(tmp_path: Path, upstream: Path, git_server: GitServer) -> None:
    sources = open_sources([str(tmp_path / "nothing"), "http://127.0.0.1:1/{owner}/{repo}", git_server.url])
    assert found(library(tmp_path, *sources), HELLO).source == f"{git_server.url}/{{owner}}/{{repo}}"


def test_a_server_with_credentials(tmp_path: Path, upstream: Path, git_server: GitServer) -> None:
    git_server.token = "s3cret"
    refused = library(tmp_path, GitSource(git_server.url)).find(HELLO)
    assert isinstance(refused, Refused)
    source = GitSource(git_server.url.replace("//", "//x-access-token:s3cret@"))
    assert "s3cret" not in found(library(tmp_path, source), HELLO).source


def test_submodules_and_hostile_paths(tmp_path: Path, upstream: Path, git_server: GitServer) -> None:
    head = git(upstream, "rev-parse", "HEAD")
    git(upstream, "update-index", "--add", "--cacheinfo", f"160000,{head},vendor")
    git(upstream, "commit", "--quiet", "-m", "submodule")
    git_server.publish(upstream, "acme/hello")
    answer = found(library(tmp_path, GitSource(git_server.url)), HELLO._replace(ref="main"))
    assert not (answer.directory / "vendor").exists()


@pytest.mark.parametrize(
    ("mode", "path", "content"),
    [
        ("120000", "out", "../../../etc/passwd"),
        ("120000", "root", "/etc"),
        ("100644", ".GIT/hooks/post-checkout", "x"),
        ("100644", ".git/hooks/post-checkout", "x"),
        ("100644", "../evil", "x"),
    ],
)
def test_repositories_made_to_do_harm(
    tmp_path: Path, upstream: Path, git_server: GitServer, mode: str, path: str, content: str
) -> None:
    made = git(upstream, "hash-object", "-w", "--stdin", given=content.encode())
    for name in reversed(path.split("/")):
        kind = "tree" if mode == "040000" else "blob"
        made, mode = git(upstream, "mktree", given=f"{mode} {kind} {made}\t{name}\n".encode()), "040000"
    head = git(upstream, "commit-tree", "-m", "harm", made)
    git(upstream, "update-ref", "refs/heads/harm", head)
    git_server.publish(upstream, "acme/hello")
    refused = library(tmp_path, GitSource(git_server.url)).find(HELLO._replace(ref="harm"))
    assert isinstance(refused, Refused)
    assert not list((tmp_path / "cache").rglob("passwd"))
    assert not list(tmp_path.rglob("evil"))


def test_a_fetch_that_was_killed_leaves_nothing_in_the_way(
    tmp_path: Path, upstream: Path, git_server: GitServer
) -> None:
    reached, goes_on = threading.Event(), threading.Event()
    answer = git_server.answer

    def slowly(handler: object, body: bytes) -> None:
        if b"want " in body or b"command=fetch" in body:
            reached.set()
            goes_on.wait(10)
        answer(handler, body)  # pyright: ignore[reportArgumentType]

    git_server.answer = slowly
    script = (
        "from pathlib import Path\nfrom ostler.actions.library import Library, Remote\n"
        "from ostler.actions.library.git_source import GitSource\n"
        f"Library(cache=Path({str(tmp_path / 'cache')!r}), into=Path({str(tmp_path / 'killed')!r}), "
        f"sources=[GitSource({git_server.url!r})]).find(Remote('acme', 'hello', '', 'v1'))"
    )
    with subprocess.Popen([sys.executable, "-c", script], start_new_session=True) as process:
        assert reached.wait(10)
        process.send_signal(signal.SIGKILL)
        process.wait()
        goes_on.set()
    git_server.answer = answer
    assert isinstance(library(tmp_path, GitSource(git_server.url)).find(HELLO), Found)
