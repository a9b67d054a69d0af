"""Caches by the built-in actions: on each vault the same."""

import os
from pathlib import Path

import pytest

from tests.contract.actions.conftest import Machine
from tests.contract.actions.test_artifacts import next_job, write


def test_a_cache_is_saved_at_the_end_and_restored_by_the_next_job(keeping: Machine) -> None:
    first = keeping.ok("cache", path="deps", key="k-1")
    assert first.outputs == {"cache-primary-key": "k-1"}
    write(keeping, "deps/a", "deps/deep/b", "deps/.hidden")
    (keeping.workspace / "deps/a").chmod(0o755)
    (keeping.workspace / "deps/link").symlink_to("a")
    (keeping.workspace / "deps/python").symlink_to("/usr/bin/python3")
    os.link(keeping.workspace / "deps/a", keeping.workspace / "deps/twin")
    os.utime(keeping.workspace / "deps/deep/b", (1_000_000_000, 1_000_000_000))
    assert "Cache saved with key: k-1" in keeping.ok("cache", "post", first.states, path="deps", key="k-1").said
    second = next_job(keeping).ok("cache", path="deps", key="k-1")
    assert second.outputs == {"cache-primary-key": "k-1", "cache-matched-key": "k-1", "cache-hit": "true"}
    deps = keeping.workspace / "deps"
    assert keeping.files == ["deps/.hidden", "deps/a", "deps/deep/b", "deps/link", "deps/python", "deps/twin"]
    assert deps.joinpath("a").stat().st_mode & 0o777 == 0o755
    assert deps.joinpath("python").readlink() == Path("/usr/bin/python3")
    assert deps.joinpath("deep/b").stat().st_mtime == 1_000_000_000
    assert deps.joinpath("twin").samefile(deps / "a")
    assert "not saving cache" in keeping.ok("cache", "post", second.states, path="deps", key="k-1").said


def test_a_key_that_begins_alike_restores_and_is_no_hit(keeping: Machine) -> None:
    write(keeping, "deps/a")
    keeping.ok("cache/save", path="deps", key="linux-deps-1")
    (keeping.workspace / "deps/a").write_text("newer")
    keeping.ok("cache/save", path="deps", key="linux-deps-2")
    ended = next_job(keeping).ok(
        "cache/restore", path="deps", key="linux-deps-3", restore_keys="linux-none-\nlinux-deps-"
    )
    assert ended.outputs["cache-hit"] == "false"
    assert ended.outputs["cache-matched-key"] == "linux-deps-2"
    assert (keeping.workspace / "deps/a").read_text() == "newer"


def test_other_paths_are_another_cache(keeping: Machine) -> None:
    write(keeping, "deps/a", "more/b")
    keeping.ok("cache/save", path="deps", key="k")
    ended = next_job(keeping).ok("cache/restore", path="deps\nmore", key="k")
    assert "cache-hit" not in ended.outputs


def test_paths_outside_the_workspace(keeping: Machine) -> None:
    store = Path(keeping.environment["HOME"], ".npm")
    store.mkdir()
    (store / "x").write_text("x")
    write(keeping, "single")
    keeping.ok("cache/save", path="~/.npm\nsingle\nabsent", key="k")
    (store / "x").unlink()
    next_job(keeping).ok("cache/restore", path="~/.npm\nsingle\nabsent", key="k")
    assert (store / "x").read_text() == "x"
    assert keeping.files == ["single"]


def test_an_entry_is_never_changed(keeping: Machine) -> None:
    write(keeping, "deps/a")
    keeping.ok("cache/save", path="deps", key="k")
    (keeping.workspace / "deps/a").write_text("poison")
    assert "already" in keeping.ok("cache/save", path="deps", key="k").said
    next_job(keeping).ok("cache/restore", path="deps", key="k")
    assert (keeping.workspace / "deps/a").read_text() == "deps/a"


def test_looking_does_not_restore(keeping: Machine) -> None:
    write(keeping, "deps/a")
    keeping.ok("cache/save", path="deps", key="k")
    ended = next_job(keeping).ok("cache/restore", path="deps", key="k", lookup_only="true")
    assert ended.outputs["cache-hit"] == "true"
    assert keeping.files == []


def test_a_miss_can_be_fatal(keeping: Machine) -> None:
    ended = keeping.run("cache/restore", path="deps", key="k", fail_on_cache_miss="true")
    assert ended.code == 1
    assert "Failed to restore cache entry" in ended.said


def test_nothing_to_save_is_a_warning(keeping: Machine) -> None:
    assert "::warning::Path Validation Error" in keeping.ok("cache/save", path="absent", key="k").said


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"path": "a", "key": "x" * 513}, "cannot be larger than 512"),
        ({"path": "a", "key": "a,b"}, "cannot contain commas"),
        ({"path": "a", "key": "k", "restore_keys": "\n".join("abcdefghijk")}, "maximum of 10"),
        ({"path": "a"}, "Input required and not supplied: key"),
        ({"key": "a"}, "Input required and not supplied: path"),
    ],
)
def test_what_cannot_be_is_refused(keeping: Machine, inputs: dict[str, str], said: str) -> None:
    ended = keeping.run("cache", **inputs)
    assert ended.code == 1
    assert said in ended.said


def test_without_a_place_for_caches_the_job_goes_on(machine: Machine) -> None:
    ended = machine.ok("cache", path="deps", key="k")
    assert "::warning::Failed to restore" in ended.said


def test_a_damaged_cache_is_noticed_and_removed(machine: Machine, tmp_path: Path) -> None:
    machine.with_services(store=str(tmp_path / "store"))
    write(machine, "deps/a")
    machine.ok("cache/save", path="deps", key="k")
    archive = next(tmp_path.rglob("*.tar.zst"))
    archive.write_bytes(archive.read_bytes()[:-3] + b"xyz")
    assert "was damaged" in machine.ok("cache/restore", path="deps", key="k").said
    assert "Cache not found" in machine.ok("cache/restore", path="deps", key="k").said


def test_caches_of_one_repository_are_not_those_of_another(machine: Machine, tmp_path: Path) -> None:
    machine.with_services(store=str(tmp_path / "one/.ostler"))
    write(machine, "deps/a")
    machine.ok("cache/save", path="deps", key="k")
    machine.with_services(store=str(tmp_path / "two/.ostler"))
    assert "Cache not found" in machine.ok("cache/restore", path="deps", key="k").said
