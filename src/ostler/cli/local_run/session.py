"""One ``ostler run`` from the request to the last line: picks workflows, runs one after the other, tells the view."""

import asyncio
import os
import platform
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ostler.actions.reach import reach_of
from ostler.agent.local_supervisors import LocalSupervisors
from ostler.agent.supervision import ActionServices
from ostler.cli.errors import FAILED, INTERRUPTED
from ostler.cli.local_run import working_tree
from ostler.cli.local_run.cells import as_typed
from ostler.cli.local_run.driver import LeftOut, LocalDriver, Settings
from ostler.cli.local_run.early import cache_folder
from ostler.cli.local_run.errors import NotPossibleHere, WorkflowMissing
from ostler.cli.local_run.folders import Folders, artifacts, make_folders
from ostler.cli.local_run.happenings import Ending, Happening, JobRow, Notice, RunFinished, RunStarted
from ostler.cli.local_run.preparation import prepare, run_number
from ostler.cli.local_run.request import Request
from ostler.cli.local_run.selection import FOLDERS, Chosen, Selection, repository_of, workflow_files
from ostler.cli.local_run.views import View
from ostler.cli.local_run.workflow_files import WorkflowFiles
from ostler.cli.local_run.working_tree import WorkingTree
from ostler.effects import Effects
from ostler.workflow.run.effects import StartedJob
from ostler.workflow.run.plan import Plan
from ostler.workflow.run.reducer import begin

_PASSED_ON: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TERM",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "DOCKER_HOST",
    "XDG_CACHE_HOME",
)
_OTHER_SYSTEMS: Final = ("windows", "macos", "mac-", "osx") if platform.system() == "Linux" else ("windows", "ubuntu")
_TICK_SECONDS: Final = 0.1


class Surroundings(NamedTuple):
    """What a run needs of the process around it."""

    effects: Effects
    environment: Mapping[str, str]
    view: View
    say: Callable[[str], object]
    """Shows people what is no part of the run, such as findings in a file."""


class Session:
    """Everything that one request comes to."""

    def __init__(self, request: Request, around: Surroundings) -> None:
        if request.isolation != "process":
            raise NotPossibleHere(
                f"there is no executor for --isolation {request.isolation} on this machine",
                fix="leave it out to run as processes of yours, if you trust the workflow",
            )
        self._request = request
        self._around = around
        self._driver: LocalDriver | None = None
        self._cancelled = 0
        clock = around.effects.clock
        self._tree = _tree(request, _iso(clock.now()), around.environment)
        self._files = WorkflowFiles(self._tree.root, around.say)

    @property
    def root(self) -> Path:
        """Where the workflows belong."""
        return self._tree.root

    def choose(self) -> list[Chosen]:
        """Return what is to be run."""
        selection = Selection(self._request, self._tree, self._changed)
        path = self._request.path
        if path is not None and path.is_file():
            return [selection.named(self._files.load(path))]
        return selection.started([self._files.load(each) for each in workflow_files(self._tree.root)])

    def _changed(self) -> list[str] | None:
        return working_tree.changed_files(self._tree, self._around.environment)

    def plan(self, chosen: Chosen, run_id: str) -> Plan:
        """Return the plan of a chosen workflow."""
        return prepare(chosen, self._request, self._tree, run_id, self._files.load)

    def new_id(self) -> str:
        """Return a fresh id of a run."""
        return self._around.effects.ids.new("run")

    async def run(self, supervisors: LocalSupervisors) -> int:
        """Run all that is chosen, one after the other, and return the exit code."""
        prepared = [(each, run_id, self.plan(each, run_id)) for each in self.choose() for run_id in [self.new_id()]]
        ticking = asyncio.create_task(self._tick())
        endings: list[Ending] = []
        try:
            for each in prepared:
                ending = "cancelled" if self._cancelled else await self._run(*each, supervisors)
                endings.append(ending)
        finally:
            ticking.cancel()
            self._around.view.close()
        if self._cancelled:
            return INTERRUPTED
        return 0 if all(ending in ("success", "skipped") for ending in endings) else FAILED

    def interrupt(self) -> None:
        """Cancel in good order; the second time, kill."""
        self._cancelled += 1
        if self._driver is None:
            return
        if self._cancelled == 1:
            self._tell(Notice(message="cancelling; interrupt again to kill what still runs"))
            self._driver.cancel("interrupted at the terminal")
        else:
            self._driver.kill()

    async def _run(self, chosen: Chosen, run_id: str, plan: Plan, supervisors: LocalSupervisors) -> Ending:
        clock = self._around.effects.clock
        began = clock.monotonic()
        folders = make_folders(self._tree.root, run_id, cache_folder(self._around.environment))
        with (folders.run / "events.jsonl").open("wb") as events:
            encoder = msgspec.json.Encoder()

            def tell(happening: Happening) -> None:
                events.write(encoder.encode(happening) + b"\n")
                self._tell(happening)

            tell(_started(chosen, run_id, plan, folders))
            if chosen.notice:
                tell(Notice(message=chosen.notice))
            settings = self._settings(folders)
            self._driver = LocalDriver(plan, supervisors, folders, settings, tell, self._judge(tell))
            supervisors.keep_ready(max(1, min(settings.parallel, self._driver.startable)))
            try:
                ending = await self._driver.until_ended()
            except BaseException:
                await self._driver.abandon()
                raise
            finally:
                self._driver = None
            taken = round((clock.monotonic() - began) * 1000)
            tell(
                RunFinished(
                    run=run_id,
                    conclusion=ending,
                    duration_ms=taken,
                    artifacts=artifacts(folders.home, run_number(run_id)),
                )
            )
        return ending

    def _tell(self, happening: Happening) -> None:
        self._around.view.show(happening, self._around.effects.clock.monotonic())

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            self._around.view.tick(self._around.effects.clock.monotonic())

    def _settings(self, folders: Folders) -> Settings:
        request, environment = self._request, self._around.environment
        passed = {name: environment[name] for name in _PASSED_ON if name in environment}
        passed |= {name: value for name, value in environment.items() if name.startswith("LC_")}
        return Settings(
            secrets=request.secrets,
            env={**passed, **request.env},
            services=ActionServices(
                cache=str(folders.cache / "actions"),
                mirrors=request.mirrors,
                reach=reach_of(environment),
                source=str(self._tree.root),
                store=str(folders.home),
                tool_cache=str(folders.cache / "tools"),
                runner_name=platform.node() or "local",
            ),
            isolation=request.isolation,
            parallel=request.parallel or os.cpu_count() or 1,
        )

    def _judge(self, tell: Callable[[Happening], None]) -> Callable[[StartedJob], LeftOut | None]:
        """Return what says why a job is left out; a job for another system is told of."""

        def left_out(job: StartedJob) -> LeftOut | None:
            cell = job.program.matrix or {}
            for name, wanted in self._request.matrix.items():
                if name in cell and as_typed(cell[name]) not in wanted:
                    return LeftOut("skipped", f"not chosen by --matrix {name}={','.join(wanted)}")
            strange = ", ".join(label for label in job.labels if label.lower().startswith(_OTHER_SYSTEMS))
            if strange and self._request.strict_labels:
                return LeftOut("failure", f"it asks for {strange}, and this machine is no such")
            if strange:
                tell(Notice(message=f"{job.name} asks for {strange} and runs on this machine all the same"))
            return None

        return left_out


def _tree(request: Request, now: str, environment: Mapping[str, str]) -> WorkingTree:
    path = request.path
    if path is not None and not path.exists():
        raise WorkflowMissing(f"there is no {path}", fix="name a workflow file or the folder of a repository")
    folder = path if path is not None and path.is_dir() else None
    if path is not None and folder is None:
        folder = repository_of(path.absolute())
    start = folder or (path.absolute().parent if path is not None else request.directory)
    tree = working_tree.look(start.resolve(), now, environment)
    root = folder or (tree.root if tree.versioned or path is not None else _above(tree.root))
    changes: dict[str, object] = {"root": root.resolve()}
    if request.ref:
        changes["ref"] = request.ref if request.ref.startswith("refs/") else f"refs/heads/{request.ref}"
    return msgspec.structs.replace(tree, **changes)


def _above(folder: Path) -> Path:
    """Return the nearest folder that has workflows, at or above one that no repository is around."""
    found = (each for each in (folder, *folder.parents) if any((each / name).is_dir() for name in FOLDERS))
    return next(found, folder)


def _started(chosen: Chosen, run_id: str, plan: Plan, folders: Folders) -> RunStarted:
    github = plan.given.github
    nodes = begin(plan)[0].nodes.values()
    return RunStarted(
        run=run_id,
        workflow=chosen.workflow.path,
        name=plan.name,
        trigger=chosen.event,
        ref=str(github["ref"]),
        sha=str(github["sha"]),
        folder=str(folders.run),
        jobs=tuple(JobRow(id=node.id, name=node.name, needs=node.parents) for node in nodes),
    )


def _iso(micros: int) -> str:
    return datetime.fromtimestamp(micros // 1_000_000, UTC).isoformat().replace("+00:00", "Z")
