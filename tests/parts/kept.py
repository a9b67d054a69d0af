"""A process of the product under a keeper: signalled like any other, awaited by the event of its end, never left over.

with KeptProcess(["ostler", "agent", "run"], log=directory / "agent.log", env=environment) as agent:
agent.until_said("connected")
agent.send(signal.SIGKILL)          # the agent alone: its supervisors go on, as they should
assert agent.wait() == -signal.SIGKILL
# here its supervisors and their jobs are gone too
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.parts.errors import PartFailed
from tests.parts.process import log_tail, wait_until

_KEEPER = Path(__file__).with_name("keeper.py")
PATIENCE_SECONDS = 40.0


class KeptProcess:
    """See the module. Everything that it and its descendants print is in ``log``."""

    def __init__(self, command: Sequence[str], *, log: Path, env: Mapping[str, str], directory: Path) -> None:
        self.log = log
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_KEEPER), str(log), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            cwd=directory,
            start_new_session=True,
        )
        self._said = ""
        self.status: int | None = None
        self.pid = int(self._until("pid ", PATIENCE_SECONDS))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        if self.status is None:
            with suppress(PartFailed):
                self.wait(0)
        return self.status is None

    @property
    def text(self) -> str:
        """What was printed so far."""
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process and not to what it started."""
        if self.running:
            os.kill(self.pid, number)

    def wait(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Return the exit status once the process has ended; a signal's number is negative."""
        if self.status is None:
            self.status = int(self._until("ended ", seconds))
        return self.status

    def kill(self) -> None:
        """Kill the process and leave what it started."""
        self.send(signal.SIGKILL)
        self.wait()

    def until_said(self, text: str, seconds: float = PATIENCE_SECONDS, *, times: int = 1) -> None:
        """Return once the text was printed so often; fail when the process ended without saying it."""
        said = wait_until(lambda: self.text.count(text) >= times or not self.running, seconds)
        if not said or self.text.count(text) < times:
            raise PartFailed(f"{text!r} was not printed; the log ends with:\n{log_tail(self.log)}")

    def descendants(self) -> list[int]:
        """The ids of everything below the keeper: the process, its supervisors, their jobs."""
        return _below(self._keeper.pid)

    def close(self) -> None:
        """Kill everything and return when it is gone."""
        if self._keeper.stdin is not None and not self._keeper.stdin.closed:
            self._keeper.stdin.close()
        try:
            self._keeper.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        if self._keeper.stdout is not None:
            self._keeper.stdout.close()

    def _until(self, word: str, seconds: float) -> str:
        if self._keeper.stdout is None:
            raise PartFailed("the keeper has no voice")
        deadline = time.monotonic() + seconds
        descriptor = self._keeper.stdout.fileno()
        while True:
            for line in self._said.splitlines(keepends=True):
                if line.startswith(word) and line.endswith("\n"):
                    return line.removeprefix(word).strip()
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            heard = os.read(descriptor, 4096) if ready else b""
            if not heard:
                raise PartFailed(f"no {word.strip()!r} within {seconds} s:\n{log_tail(self.log)}")
            self._said += heard.decode()


def _below(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *_below(int(child))]
    return found
