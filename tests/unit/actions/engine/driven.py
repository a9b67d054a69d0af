"""A job driven without a process: scripts are read by a player that knows a few words, one a line.

``say TEXT`` writes a line, ``show NAME…`` says variables, ``out``, ``env``, ``state``, ``path`` and ``summary`` write
to the step's files, ``until NAME`` stays until the test releases it, ``exit CODE`` ends. A stopped leash ends whoever
stays. Actions of other repositories are folders below ``actions``.
"""

import textwrap
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from ostler.actions.engine.job import Job, JobEnd
from ostler.actions.engine.machine import Command, Ending, Host, Layout, Leash, StepEnd, StepNews, Stop
from ostler.actions.engine.output import Output
from ostler.actions.engine.scope import JobState, Services
from ostler.actions.engine.turns import Task, Tasks, Waiting
from ostler.actions.library.library import Found
from ostler.actions.library.metadata import read_action
from ostler.actions.library.references import Remote
from ostler.domain.machine import Refused
from ostler.protocol.v1.program import JobProgram
from ostler.workflow.check import check_workflow

T = TypeVar("T")

_FILES = {"out": "OUTPUT", "env": "ENV", "state": "STATE", "path": "PATH", "summary": "STEP_SUMMARY"}
GITHUB = {
    "actor": "ann",
    "event_name": "push",
    "event": {"n": 1},
    "repository": "acme/app",
    "sha": "abc",
    "ref": "main",
}


class Folders:
    """Actions of other repositories, as folders."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.asked: list[str] = []

    def find(self, remote: Remote) -> Found | Refused:
        self.asked.append(remote.text)
        folder = self._root / remote.repo / remote.path
        action = read_action(self._root / remote.repo, remote.path, remote.text)
        return action if isinstance(action, Refused) else Found(action, folder, source="test")


class Played:
    """See the module and ``Machine``."""

    def __init__(self, root: Path) -> None:
        folders = {name: root / name for name in ("work", "temp", "home", "files")}
        for folder in folders.values():
            folder.mkdir()
        self.layout = Layout(
            workspace=str(folders["work"]),
            temp=str(folders["temp"]),
            home=str(folders["home"]),
            files=str(folders["files"]),
            tool_cache=str(root / "tools"),
        )
        self.host = Host("bench", "Linux", "X64")
        self.tasks = Tasks()
        self.log: dict[int, str] = {}
        self.order: list[str] = []
        self.masks: list[str] = []
        self.started: list[StepNews] = []
        self.ended: list[tuple[StepNews, StepEnd]] = []
        self.limits: list[int] = []
        self.commands: list[Command] = []
        self._staying: dict[str, tuple[Leash, Waiting[bool]]] = {}

    async def run(self, command: Command, output: Output, leash: Leash) -> Ending:
        self.commands.append(command)
        if leash.stop:
            return Ending(None)
        for line in _script(command):
            word, _, rest = line.strip().partition(" ")
            if word == "say":
                output.feed(f"{rest}\n".encode())
            elif word == "show":
                output.feed(f"{' '.join(command.environment.get(name, '-') for name in rest.split())}\n".encode())
            elif word in _FILES:
                _append(command.environment[f"GITHUB_{_FILES[word]}"], rest.replace("\\n", "\n"))
            elif word == "until":
                stays: Waiting[bool] = Waiting()
                self._staying[rest] = (leash, stays)
                if not await stays:
                    return Ending(None, 2)
            elif word == "exit":
                output.finish()
                return Ending(int(rest))
        output.finish()
        return Ending(0)

    def release(self, name: str) -> None:
        """Let a script go on."""
        self._staying.pop(name)[1].finish(value=True)
        self.tasks.advance()

    def limit(self, leash: Leash, milliseconds: int) -> None:
        if milliseconds:
            self.limits.append(milliseconds)

    def late(self, name: str) -> None:
        """Let the limit of whoever stays pass."""
        leash, _ = self._staying[name]
        self.stop(leash, "timed_out")
        self.tasks.advance()

    def stop(self, leash: Leash, why: Stop) -> None:
        leash.stop = leash.stop or why
        for name, (held, stays) in list(self._staying.items()):
            if held is leash:
                del self._staying[name]
                stays.finish(value=False)

    def spawn(self, work: Coroutine[object, object, T]) -> Task[T]:
        return self.tasks.start(work)

    def write(self, number: int, text: bytes) -> None:
        self.log[number] = self.log.get(number, "") + self.masked(text.decode())
        self.order.append(self.masked(text.decode()))

    def mask(self, secret: str) -> None:
        self.masks.append(secret)

    def masked(self, text: str) -> str:
        for secret in self.masks:
            text = text.replace(secret, "***")
        return text

    def step_started(self, news: StepNews) -> None:
        self.started.append(news)

    def step_finished(self, news: StepNews, end: StepEnd) -> None:
        self.ended.append((news, end))


class Driven:
    """A job and all that can be seen of it."""

    def __init__(
        self,
        root: Path,
        written: str | list[object],
        *,
        secrets: Mapping[str, str] | None = None,
        services: Services | None = None,
        files: Mapping[str, str] | None = None,
        actions: Mapping[str, str] | None = None,
        base: Mapping[str, str] | None = None,
        **program: object,
    ) -> None:
        (root / "actions").mkdir()
        self.machine = Played(root)
        for secret in (secrets or {}).values():
            self.machine.mask(secret)
        for folder, texts in ((Path(self.machine.layout.workspace), files), (root / "actions", actions)):
            for name, text in (texts or {}).items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(textwrap.dedent(text))
        told = msgspec.convert({"job_id": "build", "github": GITHUB, **program, "steps": _steps(written)}, JobProgram)
        self.finder = Folders(root / "actions")
        self.state = JobState(
            told,
            secrets or {},
            services or Services(node={"node20": "/bin/sh"}),
            self.machine,
            {"PATH": "/bin:/usr/bin", **(base or {})},
        )
        self.job = Job(self.state, self.finder)
        self.task: Task[JobEnd] = self.machine.tasks.start(self.job.run())
        self.machine.tasks.advance()

    @property
    def end(self) -> JobEnd:
        assert self.task.ended.done, "the job still runs"
        return self.task.ended.value

    @property
    def said(self) -> list[str]:
        """The output of all steps, without what the engine adds."""
        lines = "".join(self.machine.order).splitlines()
        found: list[str] = []
        folded = False
        for line in lines:
            folded = folded or line.startswith("##[group]Run ")
            if not folded and not line.startswith(("##[", "Runner: ", "Job: ", "Action ", "Built in: ")):
                found.append(line)
            folded = folded and line != "##[endgroup]"
        return found

    @property
    def marked(self) -> list[str]:
        """The lines that the engine added outside of headers."""
        return [
            line for line in "".join(self.machine.order).splitlines() if line.startswith(("##[error]", "##[warning]"))
        ]

    @property
    def steps(self) -> dict[str, str]:
        return {news.name: end.conclusion for news, end in self.machine.ended}

    def step(self, name: str) -> StepEnd:
        return next(end for news, end in self.machine.ended if news.name == name)

    def cancel(self) -> None:
        self.job.cancel()
        self.machine.tasks.advance()


def _script(command: Command) -> list[str]:
    return Path(next(word for word in reversed(command.argv) if Path(word).is_file())).read_text().splitlines()


def _append(path: str, text: str) -> None:
    with Path(path).open("a") as file:
        file.write(text + "\n")


def _steps(written: str | list[object]) -> object:
    if isinstance(written, list):
        return written
    text = (
        f"on: push\njobs:\n  job:\n    runs-on: any\n    steps:\n{textwrap.indent(textwrap.dedent(written), '      ')}"
    )
    checked = check_workflow("test.yml", text)
    assert checked.workflow is not None, checked.findings
    return msgspec.to_builtins(list(checked.workflow.jobs[0].steps))
