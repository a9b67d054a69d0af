"""Supervisors as real processes on this machine: kept warm, handed a job, followed, found again after a restart.

Python takes longer to start than most commands take to run, so one idle supervisor for each slot waits for a job with
everything loaded. What an attempt has come to is always read from its directory; messages only say that it is worth
looking. That is why following a job that this agent started and one that it adopted are the same thing.
"""

import asyncio
import contextlib
import os
import socket
from pathlib import Path
from typing import Any

import msgspec

from ostler.agent.attempt_directory import AttemptDirectory
from ostler.agent.errors import SupervisorError
from ostler.agent.spool_reader import SpoolReader
from ostler.agent.supervision import JobOrder, JobResult, StepEvent, Supervisor
from ostler.agent.supervisor_link import SupervisorLink
from ostler.agent.supervisor_start import PLAIN, WORKFLOW, Started, start

_REACH_SECONDS, _REACH_ROUNDS = 0.02, 500
_REAP_AGAIN_SECONDS = 0.2
_SMALL_LOG = 1 << 20


class LocalSupervisor:
    """One attempt, followed through its directory. See ``supervision.Supervisor``."""

    def __init__(self, directory: AttemptDirectory) -> None:
        self.job_id, self.fence = directory.job_id, directory.fence
        self.accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._directory = directory
        self._spool = SpoolReader(directory.path / "spool")
        self._events: list[StepEvent] = []
        self._events_read = 0
        self._log_length = 0
        self._result: JobResult | None = None
        self._news = asyncio.Event()
        self._link: SupervisorLink | None = None
        self._owns_link = False
        self._released = False
        self._burial: asyncio.Task[None] | None = None

    async def changed(self) -> None:
        await self._news.wait()
        self._news.clear()

    def events(self, after: int) -> list[StepEvent]:
        return self._events[after:]

    def log_length(self) -> int:
        return self._log_length

    def log_frames(self, offset: int, limit: int) -> bytes:
        return self._spool.frames(offset, limit)

    def result(self) -> JobResult | None:
        return self._result

    async def cancel(self, reason: str) -> None:
        self._say({"do": "cancel", "reason": reason})

    async def kill(self) -> None:
        self._say({"do": "kill"})

    def follow(self, link: SupervisorLink, *, own: bool) -> None:
        """Talk through this link from now on. Only a link of its own is this attempt's to close."""
        self._link = link
        self._owns_link = own

    def look(self) -> None:
        """Read all that is new on disk."""
        self._read_events()
        self._log_length = self._spool.length()
        if self._result is None:
            self._result = self._directory.result()
        self._news.set()

    def _read_events(self) -> None:
        data = self._directory.read_from("events", self._events_read)
        whole = data[: data.rfind(b"\n") + 1]
        self._events_read += len(whole)
        self._events += [msgspec.json.decode(line, type=StepEvent) for line in whole.splitlines()]

    def receive(self, message: dict[str, Any]) -> None:
        """Take a message of the supervisor's."""
        if "accepted" in message and not self.accepted.done():
            self.accepted.set_result(None)
        elif "log" in message:
            self._log_length = max(self._log_length, message["log"])
            if message["event"] > len(self._events):
                self._read_events()
            if "result" in message:
                self._result = self._directory.result()
            self._news.set()

    def supervisor_ended(self) -> None:
        """Draw the conclusion: there is a result, or whatever is left has to be killed and the job reported lost."""
        self._link = None
        if self._released:
            return
        self.look()
        if not self.accepted.done():
            self.accepted.set_exception(SupervisorError("the supervisor ended before it took the job"))
        elif self._result is None and self._burial is None:
            self._burial = asyncio.create_task(self._bury())

    def release(self) -> None:
        """Stop following; the attempt itself goes on."""
        if self._link and self._owns_link:
            self._link.close()
        self._link = None
        self._released = True
        self._spool.close()

    def _say(self, message: dict[str, str]) -> None:
        if self._link and self._result is None:
            self._link.send(message)

    async def _bury(self) -> None:
        await asyncio.to_thread(self._directory.kill_leftovers)
        self._directory.write_lost(self._log_length)
        self.look()


class _Process:
    """A supervisor process that this agent started: idle, or busy with one attempt at a time."""

    def __init__(self, owner: "LocalSupervisors", pid: int, connected: socket.socket, kind: str) -> None:
        self.pid = pid
        self.kind = kind
        self.attempt: LocalSupervisor | None = None
        self._owner = owner
        self.link = SupervisorLink(connected, self._received, self._ended)

    def run(self, attempt: LocalSupervisor, directory: AttemptDirectory, order: JobOrder) -> None:
        self.attempt = attempt
        attempt.follow(self.link, own=False)
        self.link.send({"do": "run", "directory": str(directory.path), "ready": directory.ready, "order": order})

    def _received(self, message: dict[str, Any]) -> None:
        if self.attempt is None:
            return
        self.attempt.receive(message)
        if "result" in message:
            self.attempt = None
            self._owner.free(self)

    def _ended(self) -> None:
        self._owner.ended(self)
        if self.attempt:
            self.attempt.supervisor_ended()


class LocalSupervisors:
    """See ``supervision.Supervisors``. ``slots`` is how many idle processes are kept ready, of the kinds used last.

    ``started`` is the first of them, if somebody was in a hurry.
    """

    def __init__(self, root: Path, slots: int = 1, kind: str = PLAIN, started: Started | None = None) -> None:
        self._root = root
        self._started = started
        self._slots = slots
        self._kinds = [kind] * slots
        """What the last jobs asked for, the latest last: the next ones will probably be alike."""
        self._idle: list[_Process] = []
        self._busy: list[_Process] = []
        self._followed: dict[tuple[str, int], LocalSupervisor] = {}
        self._closed = False
        self._warm = False
        self._ready = sorted(root.glob("ready-*"))
        root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def warm_up(self) -> None:
        """Have one supervisor for each slot. One that dies idle is not replaced before the next job needs it."""
        self._warm = True
        if self._closed:
            return
        there = [process.kind for process in (*self._idle, *self._busy)]
        for kind in set(self._kinds):
            for _ in range(self._kinds.count(kind) - there.count(kind)):
                self._idle.append(self._start(kind))
        spare = len(self._idle) + len(self._busy) - self._slots
        for process in [one for one in self._idle if one.kind not in self._kinds][: max(0, spare)]:
            process.link.close()  # it ends when its agent hangs up
            self.ended(process)

    def keep_ready(self, slots: int) -> None:
        """Have so many from now on, of the kind that is there."""
        self._slots = slots
        self._kinds = [*self._kinds, *self._kinds[-1:] * slots][:slots]
        self.warm_up()

    async def launch(self, order: JobOrder) -> Supervisor:
        directory = AttemptDirectory(self._root, order.job_id, order.fence)
        try:
            directory.take(self._ready.pop() if self._ready else None)
        except FileExistsError as reason:
            raise SupervisorError(f"attempt {directory.path.name} was launched before") from reason
        except OSError as reason:
            raise SupervisorError(f"no directory for the attempt: {reason}") from reason
        kind = WORKFLOW if order.program is not None else PLAIN
        self._kinds = [*self._kinds, kind][-self._slots :]
        attempt = await self._hand_over(directory, order, kind)
        self._followed[order.job_id, order.fence] = attempt
        asyncio.get_running_loop().call_soon(self.warm_up)
        return attempt

    async def adopt(self, job_id: str, fence: int) -> Supervisor | None:
        directory = AttemptDirectory(self._root, job_id, fence)
        attempt = LocalSupervisor(directory)
        attempt.accepted.set_result(None)
        if directory.result() is None:
            connected = await _reach(directory)
            if connected:
                link = SupervisorLink(connected, attempt.receive, attempt.supervisor_ended)
                attempt.follow(link, own=True)
                link.send({"do": "subscribe"})
            elif directory.result() is None:
                await asyncio.to_thread(directory.kill_leftovers)
                if not directory.taken():
                    return None
                attempt.look()
                directory.write_lost(attempt.log_length())
        attempt.look()
        self._followed[job_id, fence] = attempt
        return attempt

    def found(self) -> list[tuple[str, int]]:
        if not self._warm:
            self.warm_up()
        attempts: list[tuple[str, int]] = []
        for path in sorted(self._root.iterdir()):
            job_id, _, fence = path.name.rpartition(".")
            if job_id and fence.isdigit() and path.is_dir():
                attempts.append((job_id, int(fence)))
        return attempts

    async def discard(self, job_id: str, fence: int) -> None:
        attempt = self._followed.pop((job_id, fence), None)
        if attempt:
            attempt.release()
        directory = AttemptDirectory(self._root, job_id, fence)
        ready = self._root / f"ready-{job_id}-{fence}"
        small = attempt is not None and attempt.result() is not None and attempt.log_length() <= _SMALL_LOG
        # A few system calls: a thread would cost more than it could spare the loop.
        if small and len(self._ready) < self._slots and directory.keep(ready):
            self._ready.append(ready)
        else:
            await asyncio.to_thread(directory.discard)

    async def close(self) -> None:
        self._closed = True
        for attempt in self._followed.values():
            attempt.release()
        for process in (*self._idle, *self._busy):
            process.link.close()
            self._reap(process.pid)
        self._idle, self._busy, self._followed = [], [], {}

    def free(self, process: _Process) -> None:
        """Take back a process whose job has ended; it says itself if it is not fit for another, by ending."""
        self._busy.remove(process)
        self._idle.append(process)

    def ended(self, process: _Process) -> None:
        """Forget a process that is gone."""
        for processes in (self._idle, self._busy):
            with contextlib.suppress(ValueError):
                processes.remove(process)
        self._reap(process.pid)

    async def _hand_over(self, directory: AttemptDirectory, order: JobOrder, kind: str) -> LocalSupervisor:
        """Give the job to an idle process, or to a new one if that one was just about to end."""
        while True:
            ready = [one for one in self._idle if one.kind == kind]
            fresh = not ready
            if fresh:
                process = self._start(kind)
            else:
                process = ready[-1]
                self._idle.remove(process)
            self._busy.append(process)
            attempt = LocalSupervisor(directory)
            process.run(attempt, directory, order)
            try:
                await attempt.accepted
            except SupervisorError:
                attempt.release()
                if fresh or directory.taken():
                    await asyncio.to_thread(directory.discard)
                    raise
            else:
                return attempt

    def _start(self, kind: str) -> _Process:
        if self._started is not None and self._started.kind == kind:
            started, self._started = self._started, None
        else:
            started = start(str(self._root), kind)
        return _Process(self, started.pid, started.connected, kind)

    def _reap(self, pid: int) -> None:
        """Collect an ended process. It hangs up a moment before it ends; if this agent ends first, init collects it."""
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG)[0] == 0 and not self._closed:
                asyncio.get_running_loop().call_later(_REAP_AGAIN_SECONDS, self._reap, pid)


async def _reach(directory: AttemptDirectory) -> socket.socket | None:
    """Connect to a living supervisor, which begins to listen when it notices that its agent is gone."""
    for _ in range(_REACH_ROUNDS):
        connected = directory.connect()
        if connected or not directory.supervised() or directory.result():
            return connected
        await asyncio.sleep(_REACH_SECONDS)
    return None
