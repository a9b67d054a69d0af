"""Artifacts by the built-in actions: on each vault the same."""

from pathlib import Path

import pytest

from tests.contract.actions.conftest import Machine


def write(machine: Machine, *names: str) -> None:
    for name in names:
        path = machine.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def next_job(machine: Machine) -> Machine:
    """The same run's next job: an empty workspace."""
    machine.workspace = Path(f"{machine.workspace}-next")
    machine.workspace.mkdir()
    return machine


def test_a_folder_travels_from_one_job_to_the_next(keeping: Machine) -> None:
    write(keeping, "dist/a.txt", "dist/deep/b.txt", "dist/.hidden", "other")
    uploaded = keeping.ok("upload-artifact", name="build", path="dist")
    assert uploaded.outputs.keys() == {"artifact-id", "artifact-digest", "artifact-url"}
    downloaded = next_job(keeping).ok("download-artifact", name="build")
    assert keeping.files == ["a.txt", "deep/b.txt"]
    assert downloaded.outputs == {"download-path": str(keeping.workspace)}
    assert (keeping.workspace / "a.txt").read_text() == "dist/a.txt"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("dist/deep/b.txt", ["b.txt"]),
        ("dist", ["a.txt", "deep/b.txt"]),
        ("dist/**/*.txt", ["a.txt", "deep/b.txt"]),
        ("dist/a.txt\ndocs", ["dist/a.txt", "docs/c.md"]),
        ("dist/\n!dist/deep", ["a.txt"]),
        ("dist/deep\ndist/other", ["deep/b.txt", "other/d.txt"]),
        ("~/reports", ["r.xml"]),
    ],
)
def test_where_files_lie_depends_on_what_the_patterns_have_in_common(
    keeping: Machine, path: str, expected: list[str]
) -> None:
    write(keeping, "dist/a.txt", "dist/deep/b.txt", "docs/c.md")
    if "other" in path:
        write(keeping, "dist/other/d.txt")
    reports = Path(keeping.environment["HOME"], "reports")
    reports.mkdir()
    (reports / "r.xml").write_text("r")
    keeping.ok("upload-artifact", path=path)
    next_job(keeping).ok("download-artifact", name="artifact")
    assert keeping.files == expected


def test_hidden_files_come_if_they_are_asked_for(keeping: Machine) -> None:
    write(keeping, "dist/.env", "dist/.config/x", "dist/a")
    keeping.ok("upload-artifact", path="dist", include_hidden_files="true")
    next_job(keeping).ok("download-artifact", name="artifact")
    assert keeping.files == [".config/x", ".env", "a"]


def test_all_artifacts_some_of_them_and_all_in_one_folder(keeping: Machine) -> None:
    write(keeping, "a/one", "b/two", "c/three")
    for name in "abc":
        keeping.ok("upload-artifact", name=f"logs-{name}" if name != "c" else "report", path=name)
    next_job(keeping).ok("download-artifact", path="all")
    assert keeping.files == ["all/logs-a/one", "all/logs-b/two", "all/report/three"]
    next_job(keeping).ok("download-artifact", pattern="logs-*")
    assert keeping.files == ["logs-a/one", "logs-b/two"]
    next_job(keeping).ok("download-artifact", pattern="{logs-b,report}", merge_multiple="true", path="m")
    assert keeping.files == ["m/three", "m/two"]


def test_by_id(keeping: Machine) -> None:
    write(keeping, "a")
    identity = keeping.ok("upload-artifact", name="one", path="a").outputs["artifact-id"]
    next_job(keeping).ok("download-artifact", artifact_ids=identity)
    assert keeping.files == ["a"]
    assert "has the ID 12345" in keeping.run("download-artifact", artifact_ids="12345").said


def test_a_name_is_taken_once_unless_it_is_to_be_overwritten(keeping: Machine) -> None:
    write(keeping, "a", "b")
    keeping.ok("upload-artifact", name="x", path="a")
    refused = keeping.run("upload-artifact", name="x", path="b")
    assert refused.code == 1
    assert "overwrite: true" in refused.said
    keeping.ok("upload-artifact", name="x", path="b", overwrite="true")
    next_job(keeping).ok("download-artifact", name="x")
    assert keeping.files == ["b"]


def test_version_3_adds_to_what_has_the_name(keeping: Machine) -> None:
    write(keeping, "a", "b")
    keeping.environment["GITHUB_ACTION_REF"] = "v3"
    keeping.ok("upload-artifact", name="x", path="a")
    keeping.ok("upload-artifact", name="x", path="b")
    next_job(keeping).ok("download-artifact", name="x")
    assert keeping.files == ["a", "b"]


def test_merging(keeping: Machine) -> None:
    write(keeping, "a/one", "b/two")
    keeping.ok("upload-artifact", name="part-a", path="a")
    keeping.ok("upload-artifact", name="part-b", path="b")
    keeping.ok("upload-artifact/merge", name="whole", pattern="part-*", delete_merged="true")
    next_job(keeping).ok("download-artifact")
    assert keeping.files == ["whole/one", "whole/two"]


@pytest.mark.parametrize(
    ("reaction", "code", "said"), [("", 0, "::warning::"), ("error", 1, "::error::"), ("ignore", 0, "No files")]
)
def test_nothing_to_upload(keeping: Machine, reaction: str, code: int, said: str) -> None:
    ended = keeping.run("upload-artifact", path="absent/**", if_no_files_found=reaction)
    assert ended.code == code
    assert said in ended.said
    assert "No files were found with the provided path: absent/**" in ended.said


@pytest.mark.parametrize(
    ("name", "inputs", "said"),
    [
        ("upload-artifact", {"path": "a", "name": "x/y"}, "Forward slash /"),
        ("upload-artifact", {"path": "a", "name": ".."}, "not valid"),
        ("upload-artifact", {"path": "../x"}, "cannot"),
        ("upload-artifact", {}, "Input required and not supplied: path"),
        ("upload-artifact", {"path": "a", "compression_level": "12"}, "compression-level"),
        ("upload-artifact", {"path": "a", "if_no_files_found": "maybe"}, "if-no-files-found"),
        ("download-artifact", {"name": "absent"}, "Artifact not found for name: absent"),
        ("download-artifact", {"name": "a", "path": "../../x"}, "leads out of the workspace"),
        ("download-artifact", {"name": "a", "artifact_ids": "1"}, "cannot be used together"),
        ("upload-artifact/merge", {}, "No artifacts found"),
    ],
)
def test_what_cannot_be_is_refused(keeping: Machine, name: str, inputs: dict[str, str], said: str) -> None:
    write(keeping, "a")
    ended = keeping.run(name, **inputs)
    assert ended.code == 1
    assert said in ended.said
    assert "Traceback" not in ended.said


def test_links_are_followed_and_a_download_does_not_write_through_them(keeping: Machine, tmp_path: Path) -> None:
    write(keeping, "dist/a")
    (keeping.workspace / "dist/b").symlink_to("a")
    keeping.ok("upload-artifact", path="dist")
    job = next_job(keeping)
    (tmp_path / "victim").write_text("mine")
    (job.workspace / "b").symlink_to(tmp_path / "victim")
    job.ok("download-artifact", name="artifact")
    assert (tmp_path / "victim").read_text() == "mine"
    assert (job.workspace / "b").read_text() == "dist/a"


def test_another_run_does_not_see_them(machine: Machine, tmp_path: Path) -> None:
    machine.with_services(store=str(tmp_path / "store"))
    write(machine, "a")
    machine.ok("upload-artifact", path="a")
    machine.environment["GITHUB_RUN_ID"] = "run_2"
    assert machine.run("download-artifact", name="artifact").code == 1
    machine.ok("download-artifact", run_id="run_1", name="artifact", path="earlier")
    assert "earlier/a" in machine.files
    machine.ok("upload-artifact", path="a")


def test_in_local_runs_they_are_files_for_people(machine: Machine, tmp_path: Path) -> None:
    machine.with_services(store=str(tmp_path / "store"))
    write(machine, "dist/a.txt")
    ended = machine.ok("upload-artifact", name="build", path="dist")
    assert (tmp_path / "store/artifacts/build/a.txt").read_text() == "dist/a.txt"
    assert ended.outputs["artifact-url"] == f"file://{tmp_path}/store/artifacts/build"
