"""Keeps one process and whatever it leaves behind: run as a script, with nothing but the standard library.

    python -I -S keeper.py LOG COMMAND…

An agent's supervisors outlive it by design, so killing what a test started is not enough. The keeper adopts every
orphan below it, says on standard output which process it started (``pid N``) and how that one ended (``ended N``), and
kills all of them once its standard input closes, which also happens when the test run itself is killed.
"""

import contextlib
import ctypes
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import NoReturn

_BECOME_SUBREAPER = 36


def main() -> None:
    """Start the command and stay until standard input closes."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)
    pid = _start(sys.argv[1], sys.argv[2:])
    _say(f"pid {pid}")
    signal.signal(signal.SIGCHLD, partial(_reap, pid))
    _reap(pid)
    while os.read(0, 1):
        pass
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _kill_all()


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(1, f"{line}\n".encode())


def _start(log: str, command: list[str]) -> int:
    pid = os.fork()
    if not pid:
        _become(log, command)
    return pid


def _become(log: str, command: list[str]) -> NoReturn:
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.execvp(command[0], command)


def _reap(kept: int, *_: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            if pid == kept:
                _say(f"ended {os.waitstatus_to_exitcode(status)}")


def _kill_all() -> None:
    """Kill until nothing is left: a child that is killed hands its own children to us."""
    while True:
        for pid in _children(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children(pid: int) -> list[int]:
    """Every descendant, the youngest generation last."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *_children(int(child))]
    return found


if __name__ == "__main__":
    main()
