"""What a job's steps do, say and leave."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from ostler.agent.errors import SupervisorError
from ostler.agent.supervision import JobOrder, Limits, StepOrder
from tests.e2e.supervisor.parts import JOB, end, log_of, order, run, supervisors

ENDS: list[tuple[str, JobOrder, str, str, int | None, int | None, list[str | None]]] = [
    ("success", order("echo hi"), "succeeded", "", 0, None, ["succeeded"]),
    ("code", order("exit 7", "true"), "failed", "step_failed", 7, None, ["failed", "skipped"]),
    ("signal", order("kill -SEGV $$"), "failed", "step_failed", None, signal.SIGSEGV, ["failed"]),
    ("pipefail", order("false | true"), "failed", "step_failed", 1, None, ["failed"]),
    ("missing", order(StepOrder(name="m", argv=("no-such",))), "failed", "step_failed", 127, None, ["failed"]),
    (
        "always",
        order("exit 2", StepOrder(name="a", script="echo cleaned", always=True), "true"),
        "failed",
        "step_failed",
        2,
        None,
        ["failed", "succeeded", "skipped"],
    ),
    (
        "always fails too",
        order("exit 2", StepOrder(name="a", script="exit 3", always=True)),
        "failed",
        "step_failed",
        2,
        None,
        ["failed", "failed"],
    ),
    ("sh", order(StepOrder(name="s", script="echo $0", shell="sh")), "succeeded", "", 0, None, ["succeeded"]),
    ("no steps", order(), "succeeded", "", 0, None, []),
    ("isolation", order("true", isolation="sandbox"), "failed", "configuration", None, None, ["skipped"]),
]


@pytest.mark.parametrize(
    ("job", "conclusion", "cause", "code", "signalled", "steps"),
    [case[1:] for case in ENDS],
    ids=[case[0] for case in ENDS],
)
def test_ends(
    tmp_path: Path,
    job: JobOrder,
    conclusion: str,
    cause: str,
    code: int | None,
    signalled: int | None,
    steps: list[str | None],
) -> None:
    result, _, attempt = asyncio.run(run(tmp_path, job))
    assert (result.conclusion, result.cause, result.exit_code, result.signal) == (conclusion, cause, code, signalled)
    assert [event.conclusion for event in attempt.events(0) if event.kind == "step_finished"] == steps
    assert [event.seq for event in attempt.events(0)] == list(range(1, len(attempt.events(0)) + 1))


def test_environment_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_ONLY", "x")
    _, log, _ = asyncio.run(run(tmp_path, order("env", env={"PATH": os.environ["PATH"], "GIVEN": "1"})))
    names = {line.split(b"=")[0].decode() for line in log.splitlines()}
    shell = {"PWD", "SHLVL", "_", "OLDPWD"}
    ours = {"HOME", "TMPDIR", "CI", "OSTLER", "OSTLER_JOB_ID", "OSTLER_FENCE", "OSTLER_WORKSPACE", "OSTLER_ATTEMPT"}
    assert names - shell == {"PATH", "GIVEN"} | ours


def test_only_the_standard_descriptors_are_inherited(tmp_path: Path) -> None:
    _, log, _ = asyncio.run(run(tmp_path, order(StepOrder(name="fds", argv=("/bin/ls", "/proc/self/fd")))))
    assert log.split() == [b"0", b"1", b"2", b"3"], "the fourth is how ls reads the directory"


def test_background_lives_until_the_end_of_the_job(tmp_path: Path) -> None:
    job = order("sleep 1000 & echo $! >pid", "kill -0 $(cat pid) && echo alive")
    result, log, _ = asyncio.run(run(tmp_path, job))
    assert result.conclusion == "succeeded"
    assert log.startswith(b"alive\nostler: killed what the job left running: sleep (")


def test_lines_of_steps(tmp_path: Path) -> None:
    _, log, attempt = asyncio.run(run(tmp_path, order("printf 'a\nb'", "true", "echo c")))
    finished = [event for event in attempt.events(0) if event.kind == "step_finished"]
    assert log == b"a\nb\nc\n"
    assert [(event.first_line, event.last_line) for event in finished] == [(1, 2), (0, 0), (3, 3)]


def test_output_is_bytes(tmp_path: Path) -> None:
    program = r"head -c 3000000 /dev/zero | tr '\0' '\377'; printf 'a\0b\r\nc'"
    result, log, _ = asyncio.run(run(tmp_path, order(program)))
    assert log == b"\xff" * 3_000_000 + b"a\0b\r\nc\n"
    assert result.log_bytes == len(log)


def test_flood_keeps_head_and_tail(tmp_path: Path) -> None:
    job = order("echo first; timeout 2 yes | head -c 300000000 || true; echo last", limits=Limits(log_bytes=1 << 20))
    result, log, _ = asyncio.run(run(tmp_path, job))
    assert result.conclusion == "succeeded"
    assert log.startswith(b"first\ny\n")
    assert log.endswith(b"y\nlast\n")
    assert b"lines of output are missing here" in log
    assert len(log) <= (1 << 20) + 200


def test_a_hundred_steps_and_many_jobs_use_one_process(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervisors(tmp_path) as owner:
            attempt = await owner.launch(order(*["true"] * 100))
            assert (await end(attempt)).conclusion == "succeeded"
            assert len(attempt.events(0)) == 200
            pids: set[bytes] = set()
            for number in range(30):
                attempt = await owner.launch(order("echo $PPID", job_id=f"{JOB}_{number}"))
                await end(attempt)
                pids.add(log_of(attempt))
                await owner.discard(f"{JOB}_{number}", 1)
            assert len(pids) == 1

    asyncio.run(scenario())


def test_nothing_persists_between_jobs(tmp_path: Path) -> None:
    plant = """
      echo evil >$HOME/.bashrc; echo evil >$TMPDIR/x; echo evil >file; ln -s /etc link; mkdir -m 0 closed
      chmod 500 $HOME; setsid sleep 1000 &
    """

    async def scenario() -> bytes:
        async with supervisors(tmp_path) as owner:
            for number in range(3):
                attempt = await owner.launch(order(plant, job_id=f"{JOB}_{number}"))
                await end(attempt)
                await owner.discard(f"{JOB}_{number}", 1)
            attempt = await owner.launch(order('find "$HOME" "$TMPDIR" . -mindepth 1'))
            await end(attempt)
            return log_of(attempt)

    assert asyncio.run(scenario()) == b""


def test_an_attempt_is_launched_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervisors(tmp_path) as owner:
            await end(await owner.launch(order("true")))
            with pytest.raises(SupervisorError, match="launched before"):
                await owner.launch(order("true"))
            assert owner.found() == [(JOB, 1)]

    asyncio.run(scenario())
