"""Checking out a commit that the runner has already, against a clone of it: the first step of nearly every job."""

import os
import subprocess
import sys
from itertools import count
from pathlib import Path

from ostler.actions.builtin.checkout import program
from ostler.actions.builtin.invocation import Invocation
from ostler.actions.builtin.services import Services
from tests.bench.context import Context, durations, percentile
from tests.bench.figure import Figure, Floor, Sample, compared
from tests.parts.git_server import GitServer, commit

GOALS = ("checkout",)

_FILES = 300


async def measure(context: Context) -> list[Figure]:
    directory = context.directory()
    work = directory / "upstream"
    for generation in range(5):
        commit(work, {f"src/part-{number}/file.py": f"{generation} {number}\n" * 200 for number in range(_FILES)})
    head = commit(work, {"last": "x"})
    with GitServer(directory / "served") as server:
        server.publish(work, "acme/app")
        return await _figures(context, directory, server, head)


async def _figures(context: Context, directory: Path, server: GitServer, head: str) -> list[Figure]:
    numbers = count()
    times = context.scaled(20, quick=3)

    def environment() -> dict[str, str]:
        place = directory / f"job-{next(numbers)}"
        place.mkdir()
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(place),
            "RUNNER_TEMP": str(place / "temp"),
            "GITHUB_WORKSPACE": str(place / "work"),
            "GITHUB_REPOSITORY": "acme/app",
            "GITHUB_SERVER_URL": server.url,
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_SHA": head,
            **Services(cache=str(directory / "cache")).environment(),
        }

    async def clone() -> None:
        place = str(directory / f"clone-{next(numbers)}")
        subprocess.run(["git", "clone", "--quiet", "--depth=1", f"{server.url}/acme/app", place], check=True)  # noqa: ASYNC221 - timed alone

    async def process() -> None:
        argv = [sys.executable, "-I", "-m", "ostler.actions.builtin", "checkout", "main"]
        subprocess.run(argv, env=environment(), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: ASYNC221

    async def work() -> None:
        program.main(Invocation(environment()))

    await process()  # what the first job fetches the others find
    cloned = await durations(times, clone)
    floor = Floor("git clone --depth=1 over HTTP", "ms", Sample(percentile(cloned, 50), 0.0))
    started = await durations(times, process)
    worked = await durations(times, work)
    what = f"check out {_FILES} files of a commit that the runner has"
    return [
        compared("checkout", f"{what}, the whole step, p50", percentile(started, 50), "ms", floor, at_most=1),
        compared("checkout", f"{what}, without the start of the program, p50", percentile(worked, 50), "ms", floor),
    ]
