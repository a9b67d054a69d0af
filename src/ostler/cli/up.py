"""``ostler up``: the whole product on one machine, in one command.

The server runs in this process; the runners of the hosted pool run in one child process, so that a crash of either
leaves the other. Stopping leaves running jobs to their supervisors: the next ``ostler up`` takes them up again.
"""

import asyncio
import contextlib
import fcntl
import os
import platform
import shutil
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Final, Unpack

import click
import uvloop

from ostler.cli import output
from ostler.cli.context import save_context
from ostler.cli.storage_options import StorageOptions, storage_options, storage_rules
from ostler.effects import system_effects
from ostler.server.errors import AlreadyRunning, DataDirectoryUnusable
from ostler.server.keys import make_master_key
from ostler.server.logging import configure_logging
from ostler.server.program import Program, master_key
from ostler.server.settings import ServerSettings

_KEY_FILE = "master.key"
_RESTART_SECONDS = 1.0
_LONGEST_RESTART_SECONDS = 30.0
_STOP_SECONDS = 10.0
_PROCESSORS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
_USUAL_NAMES: Final = {
    "linux": ("linux", "ubuntu-latest", "ubuntu-24.04", "ubuntu-22.04"),
    "darwin": ("macos", "macos-latest"),
}
_USUAL_MACHINES: Final = {"x86_64": "x64", "aarch64": "arm64"}


@click.command()
@click.option("--data", type=click.Path(file_okay=False), envvar="OSTLER_DATA", help="Where everything is kept.")
@click.option("--port", default=7080, type=click.IntRange(0, 65535), envvar="OSTLER_PORT", show_default=True)
@click.option("--host", default="127.0.0.1", envvar="OSTLER_HOST", show_default=True, help="The address to listen at.")
@click.option("--runners", default=1, type=click.IntRange(0, 256), show_default=True, help="How many runners to start.")
@storage_options
@click.option("--debug", is_flag=True, envvar="OSTLER_DEBUG", help="Log more.")
def up(*, data: str | None, port: int, host: str, runners: int, debug: bool, **storage: Unpack[StorageOptions]) -> None:
    """Start the server, the pages and the runners of the hosted pool, and keep everything in one directory."""
    configure_logging(json=not sys.stderr.isatty(), debug=debug)
    directory = Path(data).absolute() if data else _default_directory()
    with _locked(directory):
        settings = ServerSettings(
            database=f"sqlite:///{directory / 'ostler.db'}",
            blobs=(directory / "blobs").as_uri(),
            host=host,
            port=port,
            key_file=directory / _KEY_FILE,
            git_cache=directory / "git",
            private_networks=True,
            storage=storage_rules(storage),
        )
        uvloop.run(_Installation(settings, directory, runners, debug=debug).run())


class _Installation:
    """One running ``ostler up``."""

    def __init__(self, settings: ServerSettings, directory: Path, runners: int, *, debug: bool) -> None:
        effects = system_effects()
        self._directory = directory
        self._runners = runners
        self._debug = debug
        self._alive: int | None = None
        """The end of a pipe that nobody else holds: however this process dies, its runners' process sees it close."""
        make_master_key(directory / _KEY_FILE, effects.random)
        self._program = Program(settings, master_key(settings, os.environ), effects)

    async def run(self) -> None:
        """Serve until told to stop."""
        serving = asyncio.create_task(self._program.run())
        ready = asyncio.create_task(self._program.ready.wait())
        await asyncio.wait({serving, ready}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        runners: asyncio.Task[None] | None = None
        if self._program.ready.is_set():
            await self._greet()
            if self._runners:
                runners = asyncio.create_task(self._keep_runners())
        try:
            await serving
        finally:
            if runners is not None:
                runners.cancel()
                await asyncio.gather(runners, return_exceptions=True)

    async def _greet(self) -> None:
        link = await self._program.sign_in_link()
        token = await self._program.local_token()
        path = save_context(self._program.url, token)
        output.say("")
        output.say(f"  Ostler is at     {self._program.url}")
        output.say(f"  sign in once at  {link}")
        output.say(f"  data is in       {self._directory}")
        output.say(f"  this machine is signed in ({path})")
        output.say("")
        output.say("  next, in another shell:")
        output.say(f"    {_command()} job submit -- sh -c 'for i in 1 2 3; do echo \"hello $i\"; sleep 1; done'")
        output.say("")

    async def _keep_runners(self) -> None:
        """Keep the runners' process alive; when it dies its successor adopts the jobs that go on."""
        pause = _RESTART_SECONDS
        while True:
            started = asyncio.get_running_loop().time()
            process = await self._start_runners()
            try:
                status = await process.wait()
            except asyncio.CancelledError:
                await _detach(process)
                raise
            output.say(f"the runners' process ended with status {status}; starting it again")
            if asyncio.get_running_loop().time() - started > _LONGEST_RESTART_SECONDS:
                pause = _RESTART_SECONDS
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_RESTART_SECONDS)

    async def _start_runners(self) -> asyncio.subprocess.Process:
        environment = {
            **_machine_labels(),
            **os.environ,
            "OSTLER_AGENT_TOKEN": await self._program.registration_token(self._runners),
            "OSTLER_AGENT_SERVICE_URL": self._program.local_url,
            "OSTLER_AGENT_WORKING_DIRECTORY": str(self._directory / "runners"),
            "OSTLER_AGENT_HTTP_SERVER_PORT": "0",
        }
        if self._debug:
            environment["OSTLER_AGENT_DEBUG"] = "1"
        watched, self._alive = _renewed_pipe(self._alive)
        command = ("-c", "from ostler.cli.main import main; main()", "agent", "run", "--runners", str(self._runners))
        try:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                *command,
                "--parent-fd",
                str(watched),
                env=environment,
                start_new_session=True,
                pass_fds=(watched,),
            )
        finally:
            os.close(watched)


def _renewed_pipe(old: int | None) -> tuple[int, int]:
    if old is not None:
        os.close(old)
    return os.pipe()


def _machine_labels() -> dict[str, str]:
    """Return the labels that jobs on any machine ask for: the system and the processor's kind, also by GitHub's names.

    Most published workflows ask for `ubuntu-latest`; on this machine they get this machine.
    """
    if "RUNNER_LABELS" in os.environ:
        return {}
    system, processor = platform.system().lower(), platform.machine().lower()
    labels = ["macos" if system == "darwin" else system, processor]
    if processor in _PROCESSORS:
        labels.append(_PROCESSORS[processor])
    labels.append("macos-latest" if system == "darwin" else "ubuntu-latest")
    return {"OSTLER_AGENT_LABELS": ",".join(labels)}


async def _detach(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGHUP)
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _command() -> str:
    """Return what to type for `ostler` in another shell that stands where this one does."""
    if shutil.which("ostler"):
        return "ostler"
    program = Path(sys.argv[0]).absolute()
    return str(program.relative_to(Path.cwd())) if program.is_relative_to(Path.cwd()) else str(program)


def _default_directory() -> Path:
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "ostler"


@contextlib.contextmanager
def _locked(directory: Path) -> Generator[None]:
    """Own the data directory for as long as the program runs."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DataDirectoryUnusable(f"cannot use {directory}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise AlreadyRunning(f"another `ostler up` uses {directory}") from error
    try:
        yield
    finally:
        os.close(descriptor)
