"""An executor that plays a script instead of starting anything: for tests of whatever drives executors.

It keeps the whole contract, real pipe and real descriptor included, but nothing in it takes time: a program runs up to
its next ``Pause`` and stays there until the test resumes it or a signal that it does not ignore arrives.
"""

from __future__ import annotations

import errno
import os
import signal

from ostler.executors.errors import NotReady, SpawnFailed, TreeSurvived
from ostler.executors.values import Capabilities, Exit, Leftover, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ostler.executors.values import Command, Place


class Print:
    """Write to the output; what exceeds the pipe is the script's mistake."""

    def __init__(self, data: bytes) -> None:
        self.data: bytes = data


class Pause:
    """Stay until ``resume`` or a signal."""


class Ignore:
    """Ignore these signals from here on, as a trap does."""

    def __init__(self, *numbers: int) -> None:
        self.numbers: tuple[int, ...] = numbers


class Leave:
    """Leave a process in the background; a ``stubborn`` one survives even the kill."""

    def __init__(self, name: str, *, stubborn: bool = False) -> None:
        self.name: str = name
        self.stubborn: bool = stubborn


class End:
    """End with a code. A program that has no more actions ends with 0."""

    def __init__(self, code: int) -> None:
        self.code: int = code


if TYPE_CHECKING:
    Action = Print | Pause | Ignore | Leave | End


class ScriptedExecutor:
    """See ``contract.Executor``. ``programs`` are named by the first word of a command."""

    def __init__(self, programs: dict[str, list[Action]], usage: Usage | None = None) -> None:
        self._programs: dict[str, list[Action]] = programs
        self._usage: Usage = usage or Usage()
        self._descriptor, self._wakeup = os.pipe()
        os.set_blocking(self._descriptor, False)
        self._open: bool = False
        self._running: list[Action] | None = None
        self._output: int = -1
        self._ignored: set[int] = set()
        self._exit: Exit | None = None
        self._left: list[Leave] = []
        self.commands: list[Command] = []
        """What was started, in order."""
        self.signals: list[int] = []
        """What was sent, in order."""

    @property
    def descriptor(self) -> int:
        return self._descriptor

    @property
    def cgroup_paths(self) -> list[str]:
        return []

    @property
    def isolation(self) -> str:
        return "scripted"

    def capabilities(self) -> Capabilities:
        limits, networks = frozenset(("memory", "cpu", "pids")), frozenset(("full", "none"))
        return Capabilities(self.isolation, limits, networks, "group", ("Nothing runs at all.",))

    def open(self, place: Place) -> None:
        if self._open:
            raise NotReady("the executor is open already")
        self._open = True

    def start(self, command: Command) -> None:
        if not self._open or self._running is not None:
            raise NotReady("no place is open" if not self._open else "a command is in the foreground")
        if command.argv[0] not in self._programs:
            raise SpawnFailed(command.argv[0], FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
        self.commands.append(command)
        self._running = list(self._programs[command.argv[0]])
        self._output = command.output
        self._ignored = set()
        self._play()

    def resume(self) -> None:
        """Let the program go on from its pause."""
        self._play()

    def poll(self) -> Exit | None:
        try:
            os.read(self._descriptor, 4096)
        except BlockingIOError:
            pass
        ended, self._exit = self._exit, None
        return ended

    def signal(self, number: int) -> None:
        if self._running is not None:
            self.signals.append(number)
            if number not in self._ignored:
                self._end(Exit(None, number))

    def kill(self) -> None:
        self._left = [left for left in self._left if left.stubborn]
        if self._running is not None:
            self._end(Exit(None, signal.SIGKILL))

    def usage(self) -> Usage:
        return self._usage

    def close(self, patience_ms: int = 5_000) -> tuple[Leftover, ...]:
        if not self._open:
            return ()
        leftovers = tuple(Leftover(number, left.name) for number, left in enumerate(self._left, 1))
        self.kill()
        if self._left:
            raise TreeSurvived(f"killed, but still there after {patience_ms} ms: {self._left[0].name}")
        self._open, self._exit = False, None
        return leftovers

    def shutdown(self) -> None:
        os.close(self._descriptor)
        os.close(self._wakeup)

    def _play(self) -> None:
        while self._running:
            action = self._running.pop(0)
            if isinstance(action, Print):
                os.write(self._output, action.data)
            elif isinstance(action, Ignore):
                self._ignored.update(action.numbers)
            elif isinstance(action, Leave):
                self._left.append(action)
            elif isinstance(action, End):
                self._end(Exit(action.code))
            else:
                return
        if self._running is not None:
            self._end(Exit(0))

    def _end(self, ended: Exit) -> None:
        self._running = None
        self._exit = ended
        os.write(self._wakeup, b"!")
