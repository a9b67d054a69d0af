"""Repositories as git reads them: what is found, what is refused, and that nothing of them is run."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from ostler.domain.machine import Refused
from ostler.server.git.addresses import is_public, judged
from ostler.server.git.program import Git
from ostler.server.git.repositories import GitSources
from ostler.server.git.sources import Origin
from tests.e2e.repositories.bare import BareRepository

_FOLDERS = (".ostler/workflows", ".github/workflows")


@pytest.fixture
def shop(tmp_path: Path) -> BareRepository:
    return BareRepository(tmp_path / "shop", "shop")


def reading(tmp_path: Path, look: Callable[[GitSources], Coroutine[None, None, None]], *, private: bool = True) -> None:
    """Look with a fresh cache."""
    asyncio.run(look(GitSources(tmp_path / "cache", Git(os.environ), private=private)))


def test_references_commits_and_workflows(tmp_path: Path, shop: BareRepository) -> None:
    first = shop.commit({".github/workflows/ci.yml": "on: push\n", ".github/workflows/notes.md": "x", "a": "1"}, "One")
    shop.git("tag", "--annotate", "v1", "--message", "v1")
    shop.git("push", "--quiet", "origin", "v1")
    second = shop.commit({".github/workflows/b.yaml": "on: push\n", "b": "2"}, "Two\n\nbody")

    async def look(sources: GitSources) -> None:
        origin = Origin("repo_1", shop.url)
        resolved = [await sources.resolve(origin, ref) for ref in ("", "main", "v1", "refs/tags/v1", first)]
        assert [found.sha for found in resolved if not isinstance(found, Refused)] == [
            second,
            second,
            first,
            first,
            first,
        ]
        files = await sources.workflows(origin, second, _FOLDERS)
        assert files == {".github/workflows/b.yaml": b"on: push\n", ".github/workflows/ci.yml": b"on: push\n"}
        assert await sources.changed(origin, first, second) == [".github/workflows/b.yaml", "b"]
        assert await sources.changed(origin, "0" * 40, second) is None
        assert await sources.changed(origin, first, "e" * 40) is None
        described = await sources.describe(origin, second)
        assert not isinstance(described, Refused)
        assert (described.message, described.author) == ("Two\n\nbody", "Ada")

    reading(tmp_path, look)


def test_a_pull_request_is_compared_with_where_it_left(tmp_path: Path, shop: BareRepository) -> None:
    shop.commit({"a": "1"})
    shop.git("checkout", "--quiet", "-b", "feature")
    head = shop.commit({"mine": "1"}, push="feature")
    shop.git("checkout", "--quiet", "main")
    base = shop.commit({"theirs": "1"})

    async def look(sources: GitSources) -> None:
        origin = Origin("repo_1", shop.url)
        assert await sources.changed(origin, base, head, forked=True) == ["mine"]
        assert await sources.changed(origin, base, head) == ["mine", "theirs"]

    reading(tmp_path, look)


@pytest.mark.parametrize("ref", ["--upload-pack=touch pwned", "-x", "a..b", "a b", "@{-1}:x", "refs/heads/.lock"])
def test_references_that_are_none_never_reach_git(tmp_path: Path, shop: BareRepository, ref: str) -> None:
    shop.commit({"a": "1"})

    async def look(sources: GitSources) -> None:
        found = await sources.resolve(Origin("repo_1", shop.url), ref)
        assert isinstance(found, Refused)
        assert found.code in ("value_refused", "not_found")

    reading(tmp_path, look)


def test_neither_hooks_nor_configuration_of_a_repository_run(tmp_path: Path, shop: BareRepository) -> None:
    sha = shop.commit({".github/workflows/ci.yml": "on: push\n", ".gitattributes": "* filter=evil\n"})
    pwned = tmp_path / "pwned"
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[core]\n\tfsmonitor = touch {pwned}\n\thooksPath = {home}\n")
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (home / name).write_text(f"#!/bin/sh\ntouch {pwned}\n")
        (home / name).chmod(0o700)
    sources = GitSources(tmp_path / "cache", Git({**os.environ, "HOME": str(home)}), private=True)

    async def look() -> None:
        assert not isinstance(await sources.workflows(Origin("repo_1", shop.url), sha, _FOLDERS), Refused)

    asyncio.run(look())
    assert not pwned.exists()


def test_an_address_that_moves_is_fetched_anew(tmp_path: Path, shop: BareRepository) -> None:
    shop.commit({"a": "1"})
    other = BareRepository(tmp_path / "other", "other")
    there = other.commit({".github/workflows/x.yml": "on: push\n"})

    async def look(sources: GitSources) -> None:
        await sources.describe(Origin("repo_1", shop.url), shop.git("rev-parse", "HEAD").strip())
        files = await sources.workflows(Origin("repo_1", other.url), there, _FOLDERS)
        assert not isinstance(files, Refused)
        assert list(files) == [".github/workflows/x.yml"]

    reading(tmp_path, look)


def test_links_and_folders_are_no_workflows(tmp_path: Path, shop: BareRepository) -> None:
    workflows = shop.clone / ".github" / "workflows"
    (workflows / "folder.yml").mkdir(parents=True)
    (workflows / "link.yml").symlink_to("/etc/passwd")
    sha = shop.commit({".github/workflows/folder.yml/x": "1", ".github/workflows/real.yml": "on: push\n"})

    async def look(sources: GitSources) -> None:
        files = await sources.workflows(Origin("repo_1", shop.url), sha, _FOLDERS)
        assert not isinstance(files, Refused)
        assert list(files) == [".github/workflows/real.yml"]

    reading(tmp_path, look)


def test_the_password_is_in_no_command_line(tmp_path: Path) -> None:
    spy = tmp_path / "bin"
    spy.mkdir()
    (spy / "git").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/seen\nexit 1\n')
    (spy / "git").chmod(0o700)
    sources = GitSources(tmp_path / "cache", Git({"PATH": f"{spy}:{os.environ['PATH']}"}), private=True)
    origin = Origin("repo_1", "https://git.example/x.git", "bot", "very-secret-password")
    assert isinstance(asyncio.run(sources.references(origin)), Refused)
    seen = (tmp_path / "seen").read_text()
    assert "ls-remote" in seen
    assert "very-secret" not in seen


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/x",
        "http://localhost/x",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/x",
        "http://[::ffff:10.0.0.1]/x",
        "https://10.1.2.3/x.git",
        "ssh://git@192.168.1.1/x",
        "http://0.0.0.0/x",
        "http://2130706433/x",
        "file:///srv/git/x",
        "/srv/git/x",
        "git://93.184.216.34/x",
    ],
)
def test_what_is_not_in_the_public_internet_is_out_of_reach(address: str) -> None:
    found = asyncio.run(judged(address, private=False))
    assert isinstance(found, Refused)
    assert found.code in ("address_refused", "fetch_failed", "value_refused")


def test_a_host_is_held_to_the_addresses_that_were_judged() -> None:
    held = asyncio.run(judged("https://93.184.216.34/x", private=False))
    assert not isinstance(held, Refused)
    assert held.config == (("http.curloptResolve", "93.184.216.34:443:93.184.216.34"),)
    by_ssh = asyncio.run(judged("git@93.184.216.34:x", private=False))
    assert not isinstance(by_ssh, Refused)
    assert "HostKeyAlias=93.184.216.34" in by_ssh.ssh_options


@pytest.mark.parametrize(("address", "public"), [("8.8.8.8", True), ("2002:7f00:1::", False), ("224.0.0.1", False)])
def test_wrapped_and_shared_addresses(address: str, *, public: bool) -> None:
    assert is_public(address) is public
