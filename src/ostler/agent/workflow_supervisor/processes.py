"""The commands of one job, several at once: their pipes, and the leashes on which they are stopped.

Commands that run one after the other share a pipe, so what a step left running is read for as long as the job lasts; a
step in the background has its own, so its lines cannot be taken for another's.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import sys
from collections.abc import Callable

from ostler.actions.engine.machine import Command, Ending, Leash, Stop
from ostler.actions.engine.output import Output
from ostler.actions.engine.turns import Waiting
from ostler.agent.supervisor.clock import now_ms
from ostler.agent.supervisor.ladder import INTERRUPT, KILL, TERMINATE, Ladder
from ostler.executors import values
from ostler.executors.contract import Executor
from ostler.executors.errors import SpawnFailed

_READ_BYTES = 128 << 10
_PIPE_BYTES = 1 << 20
_NOT_FOUND, _CANNOT_START = 127, 126


class Pipe:
    """One pipe and who listens to it."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)
        if sys.platform == "linux":
            try:
                fcntl.fcntl(self.writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            except PermissionError:
                pass  # the user's limit on pipes is reached: the usual size does as well, only slower
        self.output: Output | None = None

    def read(self) -> int:
        """Take what there is; what nobody listens to any more is let go."""
        try:
            data = os.read(self.reading, _READ_BYTES)
        except BlockingIOError:
            return 0
        if data and self.output is not None:
            self.output.feed(data)
        return len(data)

    def drain(self) -> None:
        """Take all there is, but not for ever: something may go on writing."""
        room = _PIPE_BYTES
        while room > 0 and (count := self.read()):
            room -= count

    def close(self) -> None:
        os.close(self.reading)
        os.close(self.writing)


class _Running:
    def __init__(self, leash: Leash, pipe: Pipe, ended: Waiting[Ending]) -> None:
        self.leash = leash
        self.pipe = pipe
        self.ended = ended


class _Line:
    """A leash with its limit and its ladder."""

    def __init__(self, leash: Leash, ladder: Ladder) -> None:
        self.leash = leash
        self.ladder = ladder
        self.deadline: int | None = None


class Processes:
    """All commands of one job."""

    def __init__(
        self,
        executor: Executor,
        poller: select.poll,
        graces_ms: tuple[int, int],
        ended: Callable[[Leash, values.Exit], None],
    ) -> None:
        self._executor = executor
        self._poller = poller
        self._graces = graces_ms
        self._ended = ended
        self._shared = Pipe()
        self._pipes: dict[int, Pipe] = {}
        self._running: dict[int, _Running] = {}
        self._lines: dict[int, _Line] = {}
        self._watch(self._shared)

    @property
    def deadline(self) -> int | None:
        """When something is due."""
        moments = [
            moment
            for line in self._lines.values()
            for moment in (line.deadline, line.ladder.deadline)
            if moment is not None
        ]
        return min(moments, default=None)

    def start(self, command: Command, output: Output, leash: Leash, *, beside: bool) -> Waiting[Ending]:
        """Start a command, unless its leash was stopped."""
        ended: Waiting[Ending] = Waiting()
        if leash.stop:
            ended.finish(Ending(None))
            return ended
        pipe = self._shared
        if beside:
            pipe = Pipe()
            self._watch(pipe)
        pipe.output = output
        started = values.Command(list(command.argv), dict(command.environment), command.directory, pipe.writing)
        try:
            handle = self._executor.start(started)
        except (SpawnFailed, OSError, ValueError) as reason:
            number = reason.errno if isinstance(reason, OSError | SpawnFailed) else 0
            pipe.output = None
            ended.finish(Ending(_NOT_FOUND if number == errno.ENOENT else _CANNOT_START, fault=str(reason)))
            return ended
        self._running[handle] = _Running(leash, pipe, ended)
        return ended

    def owns(self, descriptor: int) -> bool:
        return descriptor in self._pipes

    def read(self, descriptor: int) -> None:
        """Take output that has arrived."""
        pipe = self._pipes[descriptor]
        if not pipe.read() and pipe.output is None and pipe is not self._shared:
            self._poller.unregister(descriptor)
            del self._pipes[descriptor]
            os.close(descriptor)

    def collect(self) -> None:
        """Take the ends of commands."""
        while exited := self._executor.poll():
            running = self._running.pop(exited.handle, None)
            if running is None:
                continue
            pipe = running.pipe
            pipe.drain()
            if pipe.output is not None:
                pipe.output.finish()
            pipe.output = None
            if pipe is not self._shared:
                os.close(pipe.writing)
            line = self._lines.get(id(running.leash))
            if line is not None and not self._on(running.leash):
                line.ladder.reset()
            self._ended(running.leash, exited)
            running.ended.finish(Ending(exited.code, exited.signal))

    def limit(self, leash: Leash, milliseconds: int) -> None:
        """Stop a leash after so long; 0 lifts the limit."""
        if milliseconds:
            self._line(leash).deadline = now_ms() + milliseconds
        else:
            self._lines.pop(id(leash), None)

    def stop(self, leash: Leash, why: Stop) -> None:
        """Stop what is on a leash."""
        if not leash.stop:
            leash.stop = why
            if self._on(leash):
                self._line(leash).ladder.begin(now_ms())

    def stop_all(self, why: Stop) -> None:
        """Stop everything, gently."""
        for running in list(self._running.values()):
            self.stop(running.leash, why)

    def kill(self) -> None:
        """Stop everything at once."""
        for running in self._running.values():
            running.leash.stop = running.leash.stop or "cancelled"
        self._executor.kill()

    def be_punctual(self, now: int) -> None:
        """Do what is due."""
        for line in list(self._lines.values()):
            if line.deadline is not None and now >= line.deadline:
                line.deadline = None
                self.stop(line.leash, "timed_out")
            rung = line.ladder.due(now)
            if rung == KILL:
                for handle in self._on(line.leash):
                    self._executor.kill_one(handle)
            elif rung in (INTERRUPT, TERMINATE):
                for handle in self._on(line.leash):
                    self._executor.signal(handle, signal.SIGINT if rung == INTERRUPT else signal.SIGTERM)

    def drain(self) -> None:
        """Take what is left in the pipes."""
        for pipe in self._pipes.values():
            pipe.drain()

    def close(self) -> None:
        """Let go of everything; nothing runs any more."""
        for descriptor, pipe in self._pipes.items():
            self._poller.unregister(descriptor)
            os.close(descriptor)
            if pipe is self._shared or pipe.output is not None:
                os.close(pipe.writing)
        self._pipes.clear()

    def _on(self, leash: Leash) -> list[int]:
        return [handle for handle, running in self._running.items() if running.leash is leash]

    def _line(self, leash: Leash) -> _Line:
        line = self._lines.get(id(leash))
        if line is None:
            line = self._lines[id(leash)] = _Line(leash, Ladder(*self._graces))
        return line

    def _watch(self, pipe: Pipe) -> None:
        self._pipes[pipe.reading] = pipe
        self._poller.register(pipe.reading, select.POLLIN)
