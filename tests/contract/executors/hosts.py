"""The executors under contract, each with the same few programs: one in shell, one as a script.

A process executor reaps every child of its process, so each case runs in a fork of the test's own.
"""

import os
import signal
import traceback
from collections.abc import Callable
from pathlib import Path

from ostler.executors.contract import Executor
from ostler.executors.process import ProcessExecutor
from ostler.executors.scripted import End, Ignore, Leave, Pause, Print, ScriptedExecutor
from ostler.executors.values import Command

SHELL_PROGRAMS = {
    "hello": "echo hello; exit 3",
    "silent": "true",
    "sleeper": "echo ready; exec sleep 1000",
    "deaf": "trap '' INT TERM; echo ready; while :; do sleep 1000; done",
    "daemon": "setsid sleep 1000 & echo left",
    "binary": r"printf '\000\377\n'",
}
SCRIPTED_PROGRAMS: dict[str, list[Print | Pause | Ignore | Leave | End]] = {
    "hello": [Print(b"hello\n"), End(3)],
    "silent": [],
    "sleeper": [Print(b"ready\n"), Pause()],
    "deaf": [Ignore(signal.SIGINT, signal.SIGTERM), Print(b"ready\n"), Pause()],
    "daemon": [Leave("sleep"), Print(b"left\n")],
    "binary": [Print(b"\x00\xff\n")],
}
ENVIRONMENT = {"PATH": os.defpath}


class Host:
    """An executor and the way to name a program to it."""

    def __init__(self, kind: str, directory: Path) -> None:
        self.kind = kind
        self.directory = directory
        self.executor: Executor = ProcessExecutor() if kind == "process" else ScriptedExecutor(SCRIPTED_PROGRAMS)
        self.output, self.pipe = os.pipe()

    def command(self, program: str, environment: dict[str, str] | None = None) -> Command:
        argv = ["/bin/sh", "-c", SHELL_PROGRAMS[program]] if self.kind == "process" else [program]
        return Command(argv, {**ENVIRONMENT, **(environment or {})}, str(self.directory), self.pipe)

    def missing(self) -> Command:
        return Command(["no-such-program"], ENVIRONMENT, str(self.directory), self.pipe)


def run_apart(case: Callable[[Host], None], kind: str, directory: Path) -> None:
    """Run a case in a process of its own and bring its failure back."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 0
        try:
            signal.alarm(30)
            case(Host(kind, directory))
        except BaseException:  # noqa: BLE001 - whatever it is, the parent shows it
            os.write(writer, traceback.format_exc().encode()[-60_000:])
            status = 1
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as complaint:
        text = complaint.read().decode()
    _, status = os.waitpid(pid, 0)
    assert status == 0, text or f"ended with status {status}"
