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


class _Program:
    """One command as far as it has come."""

    def __init__(self, actions: list[Action], output: int) -> None:
        self.actions: list[Action] = actions
        self.output: int = output
        self.ignored: set[int] = set()


class ScriptedExecutor:
    """See ``contract.Executor``. ``programs`` are named by the first word of a command."""

    def __init__(self, programs: dict[str, list[Action]], usage: Usage | None = None) -> None:
        self._programs: dict[str, list[Action]] = programs
        self._usage: Usage = usage or Usage()
        self._descriptor, self._wakeup = os.pipe()
        os.set_blocking(self._descriptor, False)
        self._open: bool = False
        self._running: dict[int, _Program] = {}
        self._handles: int = 0
        self._ended: list[Exit] = []
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

    def start(self, command: Command) -> int:
        if not self._open:
            raise NotReady("no place is open")
        if command.argv[0] not in self._programs:
            raise SpawnFailed(command.argv[0], FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
        self.commands.append(command)
        self._handles += 1
        self._running[self._handles] = _Program(list(self._programs[command.argv[0]]), command.output)
        handle = self._handles
        self._play(handle)
        return handle

    def resume(self, handle: int = 0) -> None:
        """Let a program go on from its pause; all of them without a handle."""
        for one in [handle] if handle else list(self._running):
            self._play(one)

    def poll(self) -> Exit | None:
        try:
            os.read(self._descriptor, 4096)
        except BlockingIOError:
            pass
        return self._ended.pop(0) if self._ended else None

    def signal(self, handle: int, number: int) -> None:
        if handle in self._running:
            self.signals.append(number)
            if number not in self._running[handle].ignored:
                self._end(handle, None, number)

    def kill_one(self, handle: int) -> None:
        if handle in self._running:
            self._end(handle, None, signal.SIGKILL)

    def kill(self) -> None:
        self._left = [left for left in self._left if left.stubborn]
        for handle in list(self._running):
            self.kill_one(handle)

    def usage(self) -> Usage:
        return self._usage

    def close(self, patience_ms: int = 5_000) -> tuple[Leftover, ...]:
        if not self._open:
            return ()
        leftovers = tuple(Leftover(number, left.name) for number, left in enumerate(self._left, 1))
        self.kill()
        if self._left:
            raise TreeSurvived(f"killed, but still there after {patience_ms} ms: {self._left[0].name}")
        self._open, self._ended = False, []
        return leftovers

    def shutdown(self) -> None:
        os.close(self._descriptor)
        os.close(self._wakeup)

    def _play(self, handle: int) -> None:
        program = self._running[handle]
        while program.actions:
            action = program.actions.pop(0)
            if isinstance(action, Print):
                os.write(program.output, action.data)
            elif isinstance(action, Ignore):
                program.ignored.update(action.numbers)
            elif isinstance(action, Leave):
                self._left.append(action)
            elif isinstance(action, End):
                self._end(handle, action.code)
                return
            else:
                return
        self._end(handle, 0)

    def _end(self, handle: int, code: int | None, number: int | None = None) -> None:
        del self._running[handle]
        self._ended.append(Exit(code, number, handle=handle))
        os.write(self._wakeup, b"!")
