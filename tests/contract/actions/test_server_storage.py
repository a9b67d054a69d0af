"""What the server's vault and store of actions add to what every vault does."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from ostler.actions.job_api import CallFailed, JobApi
from ostler.actions.library import Found, Library, Remote, open_sources
from ostler.actions.library.git_source import GitSource
from ostler.cli.main import ostler
from ostler.domain.machine import Refused
from tests.contract.actions.conftest import Machine
from tests.contract.actions.storage_server import Granted, StorageServer
from tests.contract.actions.test_artifacts import write
from tests.parts.git_server import GitServer, commit, git

METADATA = "name: hello\nruns:\n  using: composite\n  steps: [{run: echo hello, shell: bash}]\n"


def job_on(machine: Machine, server: StorageServer, granted: Granted) -> Machine:
    machine.with_services(server=server.url, token=granted.token)
    machine.environment["GITHUB_RUN_ID"] = granted.run_id
    return machine


def test_a_pull_request_of_a_stranger_poisons_no_cache(
    machines: Callable[[str], Machine], storage_server: StorageServer
) -> None:
    base = storage_server.job("tgt_poison")
    ours = job_on(machines("base"), storage_server, base)
    write(ours, "deps/a")
    ours.ok("cache/save", path="deps", key="deps-1")
    stranger = storage_server.job("tgt_poison", "refs/pull/7/merge", trusted=False)
    theirs = job_on(machines("stranger"), storage_server, stranger)
    assert theirs.ok("cache/restore", path="deps", key="deps-1").outputs.get("cache-hit") == "true"
    (theirs.workspace / "deps/a").write_text("evil")
    theirs.ok("cache/save", path="deps", key="deps-2")
    again = job_on(machines("later"), storage_server, storage_server.job("tgt_poison"))
    assert again.ok("cache/restore", path="deps", key="deps-2", restore_keys="deps-").outputs["cache-hit"] == "false"
    assert (again.workspace / "deps/a").read_text() == "deps/a"


def test_a_token_is_worth_nothing_after_its_job(machine: Machine, storage_server: StorageServer) -> None:
    granted = storage_server.job()
    ours = job_on(machine, storage_server, granted)
    storage_server.end(granted)
    write(ours, "a")
    ended = ours.run("upload-artifact", path="a")
    assert ended.code == 1
    assert granted.token not in ended.said
    assert "::warning::Failed to restore" in ours.ok("cache", path="a", key="k").said


def test_a_server_that_is_not_there_fails_an_upload_in_words(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostler.actions.job_api._PAUSES", ())
    with pytest.raises(CallFailed, match="did not answer"):
        JobApi("http://127.0.0.1:1", "token").call("GET", "/job/v1/me")
    with pytest.raises(CallFailed, match="no address"):
        JobApi("ftp://x", "token")


def test_an_imported_action_reaches_runners_that_reach_nothing_else(
    tmp_path: Path, storage_server: StorageServer, git_server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(tmp_path / "upstream", {"only/action.yml": METADATA})
    (tmp_path / "upstream/only/link").symlink_to("action.yml")
    commit(tmp_path / "upstream", {})
    git(tmp_path / "upstream", "tag", "v1")
    git_server.publish(tmp_path / "upstream", "acme/hello")
    monkeypatch.setenv("OSTLER_URL", storage_server.url)
    monkeypatch.setenv("OSTLER_TOKEN", storage_server.person())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "person"))
    imported = CliRunner().invoke(ostler, ["action", "import", "acme/hello@v1", "--mirror", git_server.url, "--json"])
    assert imported.exit_code == 0, (imported.output, imported.exception)
    head = git(tmp_path / "upstream", "rev-parse", "HEAD")
    assert json.loads(imported.output)[0]["commit"] == head
    granted = storage_server.job()
    sources = open_sources([str(tmp_path / "none")], storage_server.url, granted.token)
    remote = Remote("acme", "hello", "only", "v1")
    found = Library(cache=tmp_path / "runner", into=tmp_path / "job", sources=sources).find(remote)
    assert isinstance(found, Found), found
    direct = Library(cache=tmp_path / "c", into=tmp_path / "j", sources=[GitSource(git_server.url)]).find(remote)
    assert isinstance(direct, Found)
    assert (found.digest, found.commit) == (direct.digest, head)
    missing = Library(cache=tmp_path / "runner", into=tmp_path / "k", sources=sources).find(remote._replace(ref="v2"))
    assert isinstance(missing, Refused)
    assert "it was not imported" in missing.reason


def test_an_action_is_imported_from_a_folder_and_from_an_archive(
    tmp_path: Path, storage_server: StorageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTLER_URL", storage_server.url)
    monkeypatch.setenv("OSTLER_TOKEN", storage_server.person())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "person"))
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/action.yml").write_text(METADATA)
    commit(tmp_path / "repository", {"action.yml": METADATA})
    git(tmp_path / "repository", "tag", "v3")
    git(tmp_path / "repository", "archive", "--prefix=hello-3/", "-o", str(tmp_path / "hello.tar.gz"), "v3")
    digests: set[str] = set()
    for number, origin in enumerate(("plain", "repository", "hello.tar.gz")):
        name = f"acme/from-{number}@v3"
        ended = CliRunner().invoke(ostler, ["action", "import", name, "--from", str(tmp_path / origin), "--json"])
        assert ended.exit_code == 0, (ended.output, ended.exception)
        digests.add(json.loads(ended.output)[0]["digest"])
    assert len(digests) == 1
    refused = CliRunner().invoke(ostler, ["action", "import", "acme/x@v3", "--from", str(tmp_path / "absent")])
    assert refused.exit_code != 0
