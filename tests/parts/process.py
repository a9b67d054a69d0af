"""A server process that cannot outlive its test run, with its output in a file and another user's rights if need be.

A test run may end by SIGKILL, and then no `finally` runs. A guardian (a shell blocked on a pipe that only we hold open)
sees the pipe close and kills the server and removes its directory.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_GUARDIAN = 'trap "" HUP INT TERM; read -r _; kill -KILL "-$1" 2>/dev/null; sleep 0.2; rm -rf -- "$2"'
_LOG_TAIL_BYTES = 4_000
_LOOK_AGAIN_SECONDS = 0.01


class Account:
    """The user that a part runs as: servers such as PostgreSQL refuse to run as root, and CI runs as root."""

    __slots__ = ("group", "user")

    def __init__(self, user: int | None, group: int | None) -> None:
        self.user = user
        self.group = group

    @classmethod
    def unprivileged(cls) -> "Account":
        """Ourselves, or, if we are root, the first of `postgres` and `nobody` that exists."""
        if os.geteuid() != 0:
            return cls(None, None)
        for name in ("postgres", "nobody"):
            with suppress(KeyError):
                entry = pwd.getpwnam(name)
                return cls(entry.pw_uid, entry.pw_gid)
        return cls(65534, 65534)

    def own(self, path: Path) -> None:
        """Give a path to this account."""
        if self.user is not None and self.group is not None:
            os.chown(path, self.user, self.group)

    def run(self, command: Sequence[str], log: Path) -> int:
        """Run a short command as this account, its output appended to the log, and return its exit code."""
        with log.open("ab") as output:
            return subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                check=False,
                user=self.user,
                group=self.group,
                extra_groups=self._extra_groups(),
            ).returncode

    def spawn(self, command: Sequence[str], log: Path, env: Mapping[str, str] | None) -> "subprocess.Popen[bytes]":
        """Start a long-running command as this account in a session of its own."""
        with log.open("ab") as output:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env=env,
                start_new_session=True,
                user=self.user,
                group=self.group,
                extra_groups=self._extra_groups(),
            )

    def _extra_groups(self) -> list[int] | None:
        return None if self.user is None else []


def short_directory(name: str) -> Path:
    """A temporary directory with a path short enough for a unix socket and open enough for another user to enter."""
    directory = Path(tempfile.mkdtemp(prefix=f"ostler-{name}-", dir="/tmp"))
    directory.chmod(0o711)
    return directory


def log_tail(log: Path) -> str:
    """The last lines of a log, for the message of an error."""
    if not log.exists():
        return "(no log)"
    return log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace")


class GuardedProcess:
    """One run of a server: started, signalled, stopped, and killed by its guardian if we vanish first."""

    __slots__ = ("_guardian", "_process", "log")

    def __init__(
        self,
        command: Sequence[str],
        *,
        directory: Path,
        log: Path,
        account: Account | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.log = log
        self._process = (account or Account(None, None)).spawn(command, log, env)
        self._guardian = subprocess.Popen(
            ["/bin/sh", "-c", _GUARDIAN, "guardian", str(self._process.pid), str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the server is still there."""
        return self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the server and not to its children."""
        if self.running:
            self._process.send_signal(number)

    def stop(self, number: signal.Signals = signal.SIGTERM, timeout: float = 20.0) -> None:
        """Ask the server to end, insist after the timeout, and dismiss the guardian."""
        self.send(number)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._guardian.kill()
        self._guardian.communicate()


def remove_tree(directory: Path) -> None:
    """Remove what a part left behind; files that its dying processes remove meanwhile do not matter."""
    shutil.rmtree(directory, ignore_errors=True)


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition came true in time: another program's readiness can be asked for, but sends no event."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_AGAIN_SECONDS)
    return True
