"""A git server with repositories, and built-in actions started as the engine starts them."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ostler.actions.builtin.services import Services
from ostler.actions.library import command
from tests.contract.actions.storage_server import StorageServer
from tests.parts.errors import PartMissing
from tests.parts.git_server import GitServer


class Ended(NamedTuple):
    """How a built-in action ended."""

    code: int
    said: str
    outputs: dict[str, str]
    states: dict[str, str]


class Machine:
    """A runner with one job: a workspace, a cache, and what the job's environment says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "work"
        self.services = Services(cache=str(folder / "cache"))
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "RUNNER_TEMP": str(folder / "temp"),
            "RUNNER_OS": "Linux",
            "GITHUB_REPOSITORY": "acme/app",
            "GITHUB_RUN_ID": "run_1",
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_REF_NAME": "main",
        }
        for name in ("work", "home", "temp", "cache"):
            (folder / name).mkdir(parents=True)

    def with_services(self, **changes: str) -> None:
        self.services = self.services._replace(**changes)

    def run(self, name: str, phase: str = "main", states: dict[str, str] | None = None, /, **inputs: str) -> Ended:
        """Run one phase; inputs are written with underscores for dashes."""
        files = {key: self.folder / key.lower() for key in ("GITHUB_OUTPUT", "GITHUB_STATE")}
        for file in files.values():
            file.write_text("")
        environment = {
            **self.environment,
            **self.services.environment(),
            **{key: str(file) for key, file in files.items()},
            "GITHUB_WORKSPACE": str(self.workspace),
            **{f"INPUT_{key.replace('_', '-').upper()}": value for key, value in inputs.items()},
            **{f"STATE_{key}": value for key, value in (states or {}).items()},
        }
        ended = subprocess.run(
            command(name, phase), env=environment, cwd=self.workspace, capture_output=True, text=True, check=False
        )
        said = ended.stdout + ended.stderr
        return Ended(ended.returncode, said, *(_values(file) for file in files.values()))

    def ok(self, name: str, phase: str = "main", states: dict[str, str] | None = None, /, **inputs: str) -> Ended:
        """As ``run``, and it must succeed."""
        ended = self.run(name, phase, states, **inputs)
        assert ended.code == 0, ended.said
        return ended

    @property
    def files(self) -> list[str]:
        """What is in the workspace, without git's own."""
        found = [path.relative_to(self.workspace) for path in self.workspace.rglob("*") if not path.is_dir()]
        return sorted(path.as_posix() for path in found if ".git" not in path.parts)


def _values(file: Path) -> dict[str, str]:
    values: dict[str, str] = {}
    lines = iter(file.read_text().splitlines())
    for line in lines:
        name, _, delimiter = line.partition("<<")
        collected: list[str] = []
        for part in lines:
            if part == delimiter:
                break
            collected.append(part)
        values[name] = "\n".join(collected)
    return values


@pytest.fixture
def machines(tmp_path: Path) -> Callable[[str], Machine]:
    """Make jobs on one runner: they share its cache and nothing else."""

    def make(name: str) -> Machine:
        machine = Machine(tmp_path / "jobs" / name)
        machine.with_services(cache=str(tmp_path / "cache"))
        return machine

    return make


@pytest.fixture
def machine(machines: Callable[[str], Machine]) -> Machine:
    return machines("job")


@pytest.fixture
def git_server(tmp_path: Path) -> Iterator[GitServer]:
    try:
        server = GitServer(tmp_path / "served")
    except PartMissing as missing:
        pytest.skip(str(missing))
    with server:
        yield server


@pytest.fixture(scope="session")
def storage_server() -> Iterator[StorageServer]:
    with StorageServer() as server:
        yield server


@pytest.fixture(params=["folder", "server"])
def keeping(request: pytest.FixtureRequest, machine: Machine, tmp_path: Path) -> Machine:
    """A job whose artifacts and caches are kept, in each way that there is."""
    if request.param == "folder":
        machine.with_services(store=str(tmp_path / "store"))
    else:
        server: StorageServer = request.getfixturevalue("storage_server")
        granted = server.job(f"tgt_{tmp_path.name}")
        machine.with_services(server=server.url, token=granted.token)
        machine.environment["GITHUB_RUN_ID"] = granted.run_id
    return machine
