"""Which tools this machine has, and in which versions: what jobs may ask for and people want to see.

Every tool is asked at the same time and none for long. Answers are kept by the program's path, size and time, because
asking thirty programs costs more than starting the agent; only what changed is asked again.
"""

import asyncio
import os
import re
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import msgspec

from ostler.agent.disk import Disk

PATH = "tools.json"
CAPABILITIES = ("adopt", "cancel", "log_frames", "poll_with_finish", "step_events", "workflows")

_SECONDS = 3.0
_AT_ONCE = 4
_VERSION = re.compile(rb"\d+\.\d+(?:\.\d+)?(?:[-+.][0-9A-Za-z.]+)?")


class Tool(NamedTuple):
    """How a tool is asked for its version."""

    name: str
    programs: tuple[str, ...]
    arguments: tuple[str, ...] = ("--version",)


TOOLS = (
    Tool("node", ("node",)),
    Tool("git", ("git",)),
    Tool("docker", ("docker",)),
    Tool("podman", ("podman",)),
    Tool("kubectl", ("kubectl",), ("version", "--client")),
    Tool("helm", ("helm",), ("version", "--short")),
    Tool("terraform", ("terraform",), ("version",)),
    Tool("tofu", ("tofu",), ("version",)),
    Tool("terragrunt", ("terragrunt",)),
    Tool("pulumi", ("pulumi",), ("version",)),
    Tool("ansible", ("ansible",)),
    Tool("opa", ("opa",), ("version",)),
    Tool("python", ("python3", "python")),
    Tool("go", ("go",), ("version",)),
    Tool("java", ("java",), ("-version",)),
    Tool("rust", ("rustc",)),
    Tool("make", ("make",)),
    Tool("gcc", ("gcc",)),
    Tool("bash", ("bash",)),
    Tool("bubblewrap", ("bwrap",)),
    Tool("aws", ("aws",)),
)


class Tools(Protocol):
    """Finds tools."""

    async def detect(self) -> dict[str, str]:
        """Return the versions of the tools that are there; never raises and never takes long."""
        ...


class _Known(msgspec.Struct, frozen=True):
    """An answer, and the program that gave it."""

    program: str
    size: int
    modified: int
    version: str


class LocalTools:
    """The tools on this machine's search path; ``directory`` is searched first."""

    def __init__(self, disk: Disk, environment: Mapping[str, str], directory: str) -> None:
        self._disk = disk
        self._search = [directory, *environment.get("PATH", os.defpath).split(os.pathsep)]
        self._environment = {"PATH": os.pathsep.join(self._search), "HOME": os.devnull, "LC_ALL": "C"}

    async def detect(self) -> dict[str, str]:
        known = self._load()
        turns = asyncio.Semaphore(_AT_ONCE)
        found = await asyncio.gather(*(self._ask(tool, known.get(tool.name), turns) for tool in TOOLS))
        answers = {tool.name: answer for tool, answer in zip(TOOLS, found, strict=True) if answer is not None}
        if answers != known:
            self._save(answers)
        return {name: answer.version for name, answer in answers.items() if answer.version}

    async def _ask(self, tool: Tool, known: _Known | None, turns: asyncio.Semaphore) -> _Known | None:
        program = next((path for name in tool.programs if (path := self._find(name))), "")
        if not program:
            return None
        status = os.stat(program)  # noqa: PTH116 - forty paths at every start; pathlib would take longer than the answer
        if known is not None and (known.program, known.size, known.modified) == (
            program,
            status.st_size,
            status.st_mtime_ns,
        ):
            return known
        async with turns:
            version = await self._version(program, tool.arguments)
        return _Known(program, status.st_size, status.st_mtime_ns, version)

    async def _version(self, program: str, arguments: tuple[str, ...]) -> str:
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
            )
        except OSError:
            return ""
        try:
            async with asyncio.timeout(_SECONDS):
                output, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            return ""
        match = _VERSION.search(output)
        return match.group().decode() if match else ""

    def _find(self, program: str) -> str:
        for directory in self._search:
            path = f"{directory}/{program}"
            if directory and os.access(path, os.X_OK):
                return path
        return ""

    def _load(self) -> dict[str, _Known]:
        try:
            return msgspec.json.decode(self._disk.read(PATH), type=dict[str, _Known])
        except (FileNotFoundError, msgspec.DecodeError):
            return {}

    def _save(self, answers: dict[str, _Known]) -> None:
        try:
            self._disk.write(PATH, msgspec.json.encode(answers))
        except OSError:
            return  # only a cache
