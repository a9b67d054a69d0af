"""Plays scenarios in this process, several at a time, with the real command, driver, supervisors and steps.

The supervisors are shared by all scenarios: starting one takes longer than most scenarios do.
"""

import asyncio
import os
import shutil
import subprocess
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self

import click

from ostler.agent.local_supervisors import LocalSupervisors
from ostler.agent.supervisor_start import WORKFLOW
from ostler.cli.errors import CommandFailed, explain
from ostler.cli.local_run.command import here, request_of
from ostler.cli.local_run.happenings import Happening
from ostler.cli.local_run.session import Session, Surroundings
from ostler.effects import system_effects
from tests.e2e.workflows.played import Played
from tests.e2e.workflows.scenario import FILE, FOLDER, Scenario, load

_AT_A_TIME = 4
_SLOTS = 4
GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "user.name",
    "GIT_CONFIG_VALUE_0": "Mona",
    "GIT_CONFIG_KEY_1": "user.email",
    "GIT_CONFIG_VALUE_1": "mona@example.com",
}


class _Recording:
    """A view that keeps what it is shown."""

    def __init__(self) -> None:
        self.happenings: list[Happening] = []

    def show(self, happening: Happening, now: float) -> None:
        self.happenings.append(happening)

    def tick(self, now: float) -> None:
        pass

    def close(self) -> None:
        pass


class Stage:
    """A context in which scenarios are played on a loop of its own."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stage")
        self._played: dict[str, Future[Played]] = {}
        self._times = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._open()).result()
        return self

    def __exit__(self, *details: object) -> None:
        for future in self._played.values():
            future.cancel()
        self._call(self._supervisors.close()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def announce(self, names: list[str]) -> None:
        """Begin to play these."""
        for name in names:
            self._played[name] = self._call(self._play(name))

    def play(self, name: str) -> Played:
        """Return what came of a scenario; asked again, it is played again."""
        return (self._played.pop(name, None) or self._call(self._play(name))).result()

    def _call(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _open(self) -> None:
        self._supervisors = LocalSupervisors(self._root / "attempts", _SLOTS, kind=WORKFLOW)
        self._supervisors.warm_up()
        self._places = asyncio.Semaphore(_AT_A_TIME)

    async def _play(self, name: str) -> Played:
        async with self._places:
            self._times += 1
            scenario = load(name)
            folder = await asyncio.to_thread(_laid_out, name, scenario, self._root / f"{self._times}-{name}")
            return await self._run(scenario, folder)

    async def _run(self, scenario: Scenario, folder: Path) -> Played:
        view, said = _Recording(), list[str]()
        environment = {
            **os.environ,
            **GIT_ENVIRONMENT,
            "XDG_CACHE_HOME": str(self._root / "cache"),
            "LC_ALL": "C.UTF-8",
            **scenario.env,
        }
        for name in ("OSTLER_ACTION_MIRRORS", "ACTIONS_STEP_DEBUG"):
            environment.pop(name, None)
        around = Surroundings(system_effects(), environment, view, said.append)
        arguments = [text.replace("{scenario}", str(folder)) for text in scenario.run]
        code, error = 0, ""
        try:
            asked: Any = here.make_context("run", arguments).params
            session = await asyncio.to_thread(lambda: Session(request_of(asked, folder, environment), around))
            code = await session.run(self._supervisors)
        except CommandFailed as failed:
            code, error = failed.exit_code, explain(failed) or ""
        except click.UsageError as usage:
            code, error = usage.exit_code, usage.format_message()
        return Played(code, view.happenings, "".join(said), error)


def _laid_out(name: str, scenario: Scenario, folder: Path) -> Path:
    """Make the repository of a scenario."""
    shutil.copytree(FOLDER / name, folder, ignore=shutil.ignore_patterns(FILE))
    if scenario.git:
        _git(folder, "init", "-q", "-b", scenario.git)
        _git(folder, "add", "-A")
        _git(folder, "commit", "-q", "-m", "first line of the commit")
        if scenario.git != "main":
            _git(folder, "branch", "main")
        if scenario.remote:
            _git(folder, "remote", "add", "origin", scenario.remote)
    for path, text in scenario.uncommitted.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, env={**os.environ, **GIT_ENVIRONMENT}, check=True)
