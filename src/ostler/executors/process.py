"""The executor without isolation: a job's commands are plain processes of this user, in a cgroup where there is one.

Where there is a cgroup, a command is a fork that is born in it, so there is no instant in which it could fork outside.
Where there is none it is started by ``posix_spawn``, which cannot change directory: this process does, for a moment.
A job that is kept from the network is always forked, because only a fork can enter a namespace before it executes.

Being a subreaper, this process inherits every orphan of the job. "No child left" is therefore a proof that the job is
gone, and it costs one system call.
"""

from __future__ import annotations

import os
import select
import signal

from ostler.executors import cgroup, kernel, network, tree
from ostler.executors.errors import NetworkUnavailable, NotReady, SpawnFailed, TreeSurvived
from ostler.executors.values import Capabilities, Exit, Leftover, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

    from ostler.executors.values import Command, Place

_ROUND_MS = 20
_NOT_STARTED = 127
_PLAIN_SIGNALS = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGCHLD,
)


class ProcessExecutor:
    """See ``contract.Executor``."""

    def __init__(self) -> None:
        self._subreaper: bool = kernel.become_subreaper()
        self._cgroups: cgroup.Cgroups = cgroup.discover()
        self._place: Place | None = None
        self._cgroup: cgroup.JobCgroup | None = None
        self._network: network.Loopback | None = None
        self._running: set[int] = set()
        self._groups: list[int] = []
        self._ended: list[Exit] = []
        self._descriptor, self._wakeup = os.pipe()
        os.set_blocking(self._descriptor, False)
        os.set_blocking(self._wakeup, False)
        # A command inherits what is ignored, not what is handled: handling what Python ignores spares it a reset.
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, note)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)

    @property
    def descriptor(self) -> int:
        return self._descriptor

    @property
    def cgroup_paths(self) -> list[str]:
        """Where the job's processes are, for whoever cleans up should this process die."""
        return self._cgroup.paths if self._cgroup else []

    @property
    def isolation(self) -> str:
        return "process"

    def capabilities(self) -> Capabilities:
        limits = frozenset(self._cgroups.by_controller)
        notes = [
            f"No cgroup controller for {missing}: jobs that demand such a limit are refused."
            for missing in sorted({"memory", "cpu", "pids"} - limits)
        ]
        if self._cgroups.tracking:
            kill = "cgroup.kill" if self._cgroups.kills else "cgroup"
        elif self._subreaper:
            kill = "subreaper"
            notes.append("No cgroup: if a supervisor is killed, leftovers are found by a marker in their environment.")
        else:
            kill = "group"
            notes.append("Neither cgroup nor subreaper: a daemon that leaves its process group outlives the job.")
        networks = {network.FULL}
        if fault := network.fault():
            notes.append(f"Jobs that demand to be kept from the network are refused: {fault}.")
        else:
            networks.add(network.NONE)
        return Capabilities(self.isolation, limits, frozenset(networks), kill, tuple(notes))

    def open(self, place: Place) -> None:
        if self._place:
            raise NotReady("the executor is open already")
        if self._cgroups.tracking or place.limits.demanded:
            self._cgroup = cgroup.JobCgroup(self._cgroups, place.attempt, place.limits)
        try:
            self._network = network.Loopback() if place.network == network.NONE else None
        except NetworkUnavailable:
            self._leave()
            raise
        self._place = place

    def start(self, command: Command) -> int:
        if not self._place:
            raise NotReady("no place is open")
        environment = {**command.environment, tree.MARKER: self._place.attempt}
        try:
            program = _find(command.argv[0], command.directory, environment.get("PATH", os.defpath))
            if self._cgroup or self._network:
                handle = self._fork(program, command, environment)
            else:
                handle = self._spawn(program, command, environment)
        except OSError as reason:
            raise SpawnFailed(command.argv[0], reason) from reason
        self._running.add(handle)
        self._groups.append(handle)
        return handle

    def poll(self) -> Exit | None:
        self._reap()
        return self._ended.pop(0) if self._ended else None

    def signal(self, handle: int, number: int) -> None:
        if handle in self._running:
            _signal_group(handle, number)

    def kill_one(self, handle: int) -> None:
        if handle in self._running:
            below = tree.descendants(handle)
            _signal_group(handle, signal.SIGKILL)
            for pid in below:
                tree.kill(pid)

    def kill(self) -> None:
        # Without a subreaper the groups are all that is known; with one, an old group's number may be somebody else's.
        for group in () if self._subreaper else self._groups:
            _signal_group(group, signal.SIGKILL)
        if self._cgroup:
            self._cgroup.kill()
        for pid in tree.descendants(os.getpid()):
            tree.kill(pid)

    def usage(self) -> Usage:
        usage = Usage()
        if self._cgroup:
            self._cgroup.usage(usage)
        return usage

    def close(self, patience_ms: int = 5_000) -> tuple[Leftover, ...]:
        if not self._place:
            return ()
        leftovers: tuple[Leftover, ...] = ()
        if self._reap() or not self._subreaper:
            leftovers = self._leftovers()
            self._end_all(patience_ms)
        self._leave()
        self._place = None
        self._running.clear()
        self._groups, self._ended = [], []
        return leftovers

    def shutdown(self) -> None:
        signal.set_wakeup_fd(-1)
        os.close(self._descriptor)
        os.close(self._wakeup)

    def _leave(self) -> None:
        if self._cgroup:
            self._cgroup.remove()
        if self._network:
            self._network.close()
        self._cgroup = self._network = None

    def _spawn(self, program: str, command: Command, environment: dict[str, str]) -> int:
        os.chdir(command.directory)
        try:
            return os.posix_spawn(
                program,
                command.argv,
                environment,
                file_actions=(
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, command.output, 1),
                    (os.POSIX_SPAWN_DUP2, command.output, 2),
                ),
                setpgroup=0,
                setsigmask=(),
                setsigdef=_PLAIN_SIGNALS,
            )
        finally:
            os.chdir("/")

    def _fork(self, program: str, command: Command, environment: dict[str, str]) -> int:
        complaints, complain = os.pipe()
        try:
            pid = self._cgroup.fork() if self._cgroup else os.fork()
            if pid == 0:
                _become(program, command, environment, complain, self._network)
            os.close(complain)
            complain = -1
            if complaint := os.read(complaints, 16):
                os.waitpid(pid, 0)
                number = int(complaint)
                raise OSError(number, os.strerror(number))
            return pid
        finally:
            os.close(complaints)
            if complain >= 0:
                os.close(complain)

    def _reap(self) -> bool:
        """Collect everyone who ended; say whether anyone is left."""
        try:
            os.read(self._descriptor, 4096)
        except BlockingIOError:
            pass
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid in self._running:
                self._running.discard(pid)
                code = os.waitstatus_to_exitcode(status)
                ended = Exit(
                    code if code >= 0 else None,
                    -code if code < 0 else None,
                    handle=pid,
                    cpu_micros=int((usage.ru_utime + usage.ru_stime) * 1e6),
                    memory_peak_bytes=usage.ru_maxrss * 1024,
                )
                self._ended.append(ended)

    def _leftovers(self) -> tuple[Leftover, ...]:
        pids = {*tree.descendants(os.getpid()), *(self._cgroup.processes() if self._cgroup else ())}
        return tuple(Leftover(pid, tree.name(pid)) for pid in sorted(pids))

    def _end_all(self, patience_ms: int) -> None:
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        for _ in range(0, patience_ms, _ROUND_MS):
            self.kill()
            if not self._reap():
                return
            poller.poll(_ROUND_MS)
        if self._reap():
            survivors = ", ".join(f"{left.name} ({left.pid})" for left in self._leftovers())
            raise TreeSurvived(f"killed, but still there after {patience_ms} ms: {survivors}")


def _become(
    program: str, command: Command, environment: dict[str, str], complain: int, inside: network.Loopback | None
) -> NoReturn:
    """Turn a fresh fork into the command, or say why not and end. Nothing may be raised past this point."""
    try:
        os.setpgid(0, 0)
        if inside:
            inside.enter()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(command.output, 1)
        os.dup2(command.output, 2)
        os.chdir(command.directory)
        os.execve(program, command.argv, environment)
    except OSError as reason:
        os.write(complain, b"%d" % (reason.errno or 0))
    finally:
        os._exit(_NOT_STARTED)


def _find(program: str, directory: str, path: str) -> str:
    if "/" in program:
        return os.path.join(directory, program)
    for folder in path.split(":"):
        candidate = os.path.join(directory, folder, program)
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    raise FileNotFoundError(2, "not found in PATH")


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def note(number: int, frame: FrameType | None) -> None:
    """Handle a signal by doing nothing: it still wakes the poll, and is back to its default in every command."""
