"""An attempt's directory as the agent sees it; ``ostler.agent.supervisor.directory`` says what is in it.

Everything here blocks, some of it for as long as a large workspace takes to delete: the caller decides what belongs
into a thread.
"""

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Generator
from pathlib import Path

import msgspec

from ostler.agent.supervision import JobResult
from ostler.agent.supervisor import removal
from ostler.agent.supervisor.directory import ready_again
from ostler.executors import cgroup, tree


class _State(msgspec.Struct, frozen=True):
    pid: int
    start_time: str
    boot: str
    cgroups: tuple[str, ...] = ()


class AttemptDirectory:
    """One attempt's directory, which may be gone."""

    def __init__(self, root: Path, job_id: str, fence: int) -> None:
        self.job_id = job_id
        self.fence = fence
        self.path = root / f"{job_id}.{fence}"
        self.ready = False
        """Whether it was made of one that is ready."""

    def result(self) -> JobResult | None:
        """Return how the attempt ended, if it did."""
        content = self.read_from("result", 0)
        return msgspec.json.decode(content, type=JobResult) if content else None

    def taken(self) -> bool:
        """Whether a supervisor ever made this attempt its own."""
        return self._state() is not None

    def read_from(self, name: str, position: int) -> bytes:
        """Return a file's bytes from a position on; nothing if there is no such file."""
        with contextlib.suppress(FileNotFoundError), (self.path / name).open("rb") as file:
            file.seek(position)
            return file.read()
        return b""

    def supervised(self) -> bool:
        """Whether the supervisor that took this attempt still lives."""
        state = self._state()
        return state is not None and tree.alive(state.pid, state.start_time)

    def connect(self) -> socket.socket | None:
        """Reach the supervisor; nothing if it does not listen, or not yet."""
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            connected.close()
            return None
        try:
            # A socket's address holds about a hundred bytes, and the path may be longer.
            near = f"/proc/self/fd/{descriptor}" if sys.platform == "linux" else str(self.path)
            connected.connect(f"{near}/control")
        except OSError:
            connected.close()
            return None
        finally:
            os.close(descriptor)
        return connected

    def kill_leftovers(self) -> None:
        """Kill the supervisor and everything that the attempt left running, by all means that there are."""
        state = self._state()
        if state and tree.alive(state.pid, state.start_time):
            tree.kill(state.pid)
        for path in state.cgroups if state else ():
            cgroup.end_cgroup(path)
        tree.kill_marked(self.path.name)

    def write_lost(self, log_bytes: int) -> None:
        """Store the result of an attempt whose supervisor died, for whoever asks next."""
        lost = JobResult(
            conclusion="failed",
            cause="infrastructure",
            detail="supervisor_lost",
            evidence="the process that supervised the job died; what the job left running was killed",
            signal=int(signal.SIGKILL),
            log_bytes=log_bytes,
        )
        fresh = self.path / "result.new"
        fresh.write_bytes(msgspec.json.encode(lost) + b"\n")
        fresh.replace(self.path / "result")

    def take(self, ready: Path | None) -> None:
        """Make the directory, from one that is ready if there is one. Raises ``FileExistsError``."""
        if ready and not self.path.exists():
            ready.rename(self.path)
            self.ready = True
        else:
            self.path.mkdir(mode=0o700)

    def keep(self, ready: Path) -> bool:
        """Empty the directory of an ended attempt and keep it for a later one, if that is soon done; say whether."""
        with self._parent() as parent:
            if not ready_again(parent, self.path.name):
                return False
        self.path.replace(ready)
        return True

    def discard(self) -> None:
        """Kill what is left and delete the directory.

        An attempt with a result has nothing left running: that was checked before the result was written.
        """
        if self.result() is None:
            self.kill_leftovers()
        with self._parent() as parent:
            removal.remove(parent, self.path.name)

    @contextlib.contextmanager
    def _parent(self) -> Generator[int]:
        parent = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield parent
        finally:
            os.close(parent)

    def _state(self) -> _State | None:
        content = self.read_from("state", 0)
        return msgspec.json.decode(content, type=_State) if content else None
