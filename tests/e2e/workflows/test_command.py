"""`ostler run` as a process, as people and scripts meet it: exit codes, what is printed where, and Ctrl-C."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

Process = subprocess.Popen[bytes]

SLOW = """\
on: push
jobs:
  one:
    runs-on: x
    steps:
      - run: |
          echo ready
          sleep 60
      - run: echo skipped
      - if: always()
        run: echo cleaned up
"""
GOOD = """\
on: push
jobs:
  one: {runs-on: x, steps: [{run: echo hello}]}
"""
BAD = GOOD.replace("echo hello", "echo no; exit 3")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    for name, text in (("good.yml", GOOD), ("bad.yml", BAD), ("slow.yml", SLOW), ("list", GOOD)):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def start(
    folder: Path,
    *arguments: str,
    given: int = subprocess.DEVNULL,
    out: int = subprocess.PIPE,
    err: int = subprocess.PIPE,
) -> Process:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache"), "NO_COLOR": "1", "COLUMNS": "80"}
    program = Path(sys.executable).with_name("ostler")
    return subprocess.Popen(
        [program, "run", *arguments],
        cwd=folder,
        env=environment,
        stdin=given,
        stdout=out,
        stderr=err,
    )


def until(process: Process, wanted: bytes) -> list[bytes]:
    """Read the lines before one; if it never comes, nothing is left to wait for."""
    assert process.stdout is not None
    lines: list[bytes] = []
    for line in process.stdout:
        if line == wanted:
            return lines
        lines.append(line)
    raise AssertionError(lines)


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    process = start(folder, *arguments)
    out, err = process.communicate()
    return process.returncode, out.decode(), err.decode()


def test_a_run_that_succeeds_exits_with_0_and_keeps_its_log(folder: Path) -> None:
    code, out, err = run(folder, "good.yml")
    assert (code, err) == (0, "")
    assert "one | hello\n" in out
    assert [path.read_text().splitlines()[-1] for path in folder.glob(".ostler/runs/*/one.log")] == ["hello"]
    assert (folder / ".ostler/.gitignore").is_file()
    assert not list(folder.parent.glob("cache/ostler/attempts/*"))


def test_a_run_that_fails_exits_with_1(folder: Path) -> None:
    code, out, _ = run(folder, "bad.yml", "--quiet")
    assert code == 1
    assert "exit 3" in out


def test_json_goes_to_standard_output_alone_and_is_kept(folder: Path) -> None:
    code, out, err = run(folder, "good.yml", "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, err, lines[0]["event"], lines[-1]["conclusion"]) == (0, "", "run_started", "success")
    kept = [path.read_text() for path in folder.glob(".ostler/runs/*/events.jsonl")]
    assert kept == [out]


@pytest.mark.parametrize("arguments", [["none.yml"], ["--nonsense"], ["good.yml", "--secret", "NOT_SET_ANYWHERE"]])
def test_wrong_usage_exits_with_2(folder: Path, arguments: list[str]) -> None:
    code, out, err = run(folder, *arguments)
    assert (code, out) == (2, "")
    assert err


def test_findings_go_to_standard_error_and_nothing_runs(folder: Path) -> None:
    (folder / "wrong.yml").write_text(GOOD.replace("runs-on", "run-on"), encoding="utf-8")
    code, out, err = run(folder, "wrong.yml")
    assert (code, out) == (1, "")
    assert "wrong.yml:3:9" in err
    assert not (folder / ".ostler").exists()


def test_a_file_named_like_a_verb_is_run_by_its_path(folder: Path) -> None:
    code, out, _ = run(folder, "./list", "--plain")
    assert (code, "one | hello\n" in out) == (0, True)


def test_list_and_dry_run_run_nothing(folder: Path) -> None:
    for option in ("--list", "--dry-run"):
        code, out, _ = run(folder, "good.yml", option)
        assert (code, "one" in out) == (0, True)
        assert json.loads(run(folder, "good.yml", option, "--json")[1])[0]["id"] == "one"
    assert not (folder / ".ostler").exists()


def test_an_interrupt_cancels_in_good_order(folder: Path) -> None:
    with start(folder, "slow.yml") as process:
        before = until(process, b"one | ready\n")
        process.send_signal(signal.SIGINT)
        after = process.communicate()[0].decode()
    assert process.returncode == 130
    assert before
    assert "one | cleaned up\n" in after
    assert "one | skipped\n" not in after


def test_a_second_interrupt_kills(folder: Path) -> None:
    text = SLOW.replace("sleep 60", "trap '' INT TERM; echo deaf; while true; do sleep 1; done")
    (folder / "deaf.yml").write_text(text, encoding="utf-8")
    with start(folder, "deaf.yml") as process:
        until(process, b"one | deaf\n")
        process.send_signal(signal.SIGINT)
        until(process, b"notice: cancelling; interrupt again to kill what still runs\n")
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 130


def test_nothing_runs_on_when_nobody_reads_any_more(folder: Path) -> None:
    text = SLOW.replace("sleep 60", "while echo tick; do sleep 0.05; done")
    (folder / "endless.yml").write_text(text, encoding="utf-8")
    with start(folder, "endless.yml") as process:
        until(process, b"one | tick\n")
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait() == 0
    assert not list(folder.parent.glob("cache/ostler/attempts/*"))
    attempts = str(folder.parent / "cache/ostler/attempts").encode()
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert not [command for command in commands if attempts in command]


def test_watch_runs_again_when_a_file_changes(folder: Path) -> None:
    with start(folder, "good.yml", "--watch", "--plain", err=subprocess.STDOUT) as process:
        until(process, b"watching for changes; interrupt to stop\n")
        (folder / "good.yml").write_text(GOOD.replace("hello", "again"), encoding="utf-8")
        until(process, b"good.yml changed\n")
        after = until(process, b"watching for changes; interrupt to stop\n")
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert b"one | again\n" in after
    assert process.returncode == 130


def test_at_a_terminal_there_is_a_tree(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    ours, theirs = pty.openpty()
    process = start(folder, "bad.yml", given=theirs, out=theirs, err=theirs)
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 1 << 16):
            written += piece
    except OSError:
        pass  # what a terminal says when nobody holds its other end any more
    os.close(ours)
    assert process.wait() == 1
    text = written.decode()
    assert "one · ✗ Run echo no; exit 3 exit 3" in text
    assert text.endswith("\x1b[?25h")
