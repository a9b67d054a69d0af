"""One run of one job: the steps in order, everything that may end them early, and the result.

The run is written as a person would tell it (``run``, ``_run_step``); whenever it has to wait it takes a ``_turn``:
one ``poll`` over the output pipe, the executor, and the agents, then whatever is due by time. There is no other way
for anything to happen, so there is nothing to lock.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import sys

from ostler.agent.supervisor import verdict as verdicts
from ostler.agent.supervisor.clock import now_micros, now_ms
from ostler.agent.supervisor.control import Agents
from ostler.agent.supervisor.directory import DiskFull
from ostler.agent.supervisor.ladder import INTERRUPT, KILL, TERMINATE, Ladder
from ostler.agent.supervisor.spool import Spool
from ostler.agent.supervisor.watch import FLOOR_BYTES, DiskWatch
from ostler.executors.errors import ExecutorError, LimitUnavailable, NetworkUnavailable, SpawnFailed
from ostler.executors.values import Command, Exit, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec

    from ostler.agent.supervisor.channel import Channel
    from ostler.agent.supervisor.directory import Directory
    from ostler.agent.supervisor.life import Shutdown
    from ostler.agent.supervisor.order import Order, Step
    from ostler.agent.supervisor.verdict import Verdict
    from ostler.executors.contract import Executor
    from ostler.executors.values import Leftover

    P = ParamSpec("P")

_READ_BYTES = 128 << 10
_PIPE_BYTES = 1 << 20
_WATCH_MS = 1_000
_SHOWN = 10
_NOT_FOUND, _CANNOT_START = 127, 126
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class JobRun:
    """Everything that is known of the running job."""

    def __init__(
        self,
        order: Order,
        directory: Directory,
        executor: Executor,
        handover: Channel,
        shutdown: Shutdown,
    ) -> None:
        self._order: Order = order
        self.attempt: str = order.attempt
        self.isolation: str = order.isolation
        self._directory: Directory = directory
        self._executor: Executor = executor
        self._ladder: Ladder = Ladder(order.interrupt_grace_ms, order.terminate_grace_ms)
        self._spool: Spool = Spool(directory, order.secrets, order.log_bytes)
        self._disk: DiskWatch = DiskWatch(directory.path, order.disk_bytes, FLOOR_BYTES)
        self._poller: select.poll = select.poll()
        self._agents: Agents = Agents(handover, directory, self._poller)
        self._shutdown: Shutdown = shutdown
        self._verdict: Verdict | None = None
        self._began: int = now_ms()
        self._job_deadline: int | None = self._began + order.timeout_ms if order.timeout_ms else None
        self._step_deadline: int | None = None
        self._watch_at: int = self._began
        self._step: int = 0
        self._handle: int = 0
        self._exit: Exit | None = None
        self._cpu_micros: int = 0
        self._memory_peak: int = 0
        self._stopping: bool = False
        self._full: bool = False
        self.survived: bool = False
        """Whether something is left that could not be killed: this process must not run another job."""
        self._output, self._pipe = os.pipe()
        os.set_blocking(self._output, False)
        if sys.platform == "linux":
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def open(self) -> None:
        """Make the place for the job's processes; a job that cannot have it will fail without running anything."""
        order = self._order
        if order.program:
            self._stop(verdicts.configuration("workflows_unsupported", "this supervisor cannot run jobs of workflows"))
            return
        if order.isolation != self._executor.isolation:
            evidence = f"this runner cannot isolate a job as {order.isolation}"
            self._stop(verdicts.configuration("isolation_unavailable", evidence))
            return
        try:
            self._executor.open(Place(order.attempt, order.limits, order.network))
        except (LimitUnavailable, NetworkUnavailable) as reason:
            self._stop(verdicts.configuration(reason.code, str(reason)))

    def run(self) -> None:
        """Run the job to its end and store the result."""
        self._poller.register(self._output, select.POLLIN)
        self._poller.register(self._executor.descriptor, select.POLLIN)
        for index, step in enumerate(self._order.steps):
            self._step = index
            self._run_step(index, step)
        self._sweep()
        self._finish()

    def cancel(self, reason: str) -> None:
        """Begin to end the job; the same again changes nothing."""
        self._stop(verdicts.cancelled(reason))
        self._ladder.begin(now_ms())

    def _run_step(self, index: int, step: Step) -> None:
        if self._stopping or (self._verdict and not step.always):
            self._event("step_finished", index, name=step.name, conclusion="skipped")
            return
        began, first_line = now_ms(), self._spool.lines + 1
        self._event("step_started", index, name=step.name)
        before = self._verdict
        ended = self._execute(index, step, began)
        self._drain()
        conclusion = self._conclude(step, ended, before)
        self._log(self._spool.end_step, index)
        self._log(self._spool.flush)
        self._event(
            "step_finished",
            index,
            name=step.name,
            conclusion=conclusion,
            exit_code=ended.code,
            signal=ended.signal,
            duration_ms=now_ms() - began,
            first_line=first_line if self._spool.lines >= first_line else 0,
            last_line=self._spool.lines if self._spool.lines >= first_line else 0,
            usage={"cpu_micros": ended.cpu_micros, "memory_peak_bytes": ended.memory_peak_bytes},
        )

    def _execute(self, index: int, step: Step, began: int) -> Exit:
        try:
            self._handle = self._executor.start(self._command(index, step))
        except DiskFull as reason:
            self._disk_is_full(str(reason))
            return Exit(_CANNOT_START)
        except (SpawnFailed, OSError) as reason:
            self._log(self._spool.note, str(reason), index)
            return Exit(_NOT_FOUND if reason.errno == errno.ENOENT else _CANNOT_START)
        self._exit = None
        self._step_deadline = began + step.timeout_ms if step.timeout_ms else None
        while self._exit is None:
            self._turn()
        self._step_deadline = None
        self._ladder.reset()
        return self._exit

    def _command(self, index: int, step: Step) -> Command:
        script = "" if step.argv else self._directory.write_script(f"{index}", step.script)
        directory = os.path.join(self._directory.path, "work", step.working_directory)
        if step.working_directory:
            os.makedirs(directory, exist_ok=True)
        return Command(step.command_line(script), self._environment(step), directory, self._pipe)

    def _environment(self, step: Step) -> dict[str, str]:
        path = self._directory.path
        return {
            "PATH": _PATH,
            **self._order.env,
            **step.env,
            "HOME": f"{path}/home",
            "TMPDIR": os.path.join(path, "tmp"),
            "CI": "true",
            "OSTLER": "true",
            "OSTLER_JOB_ID": self._order.job_id,
            "OSTLER_FENCE": str(self._order.fence),
            "OSTLER_WORKSPACE": f"{path}/work",
        }

    def _conclude(self, step: Step, ended: Exit, before: Verdict | None) -> str:
        """Say how the step ended, and decide the job if that was its first failure."""
        self._cpu_micros += ended.cpu_micros
        self._memory_peak = max(self._memory_peak, ended.memory_peak_bytes)
        if self._verdict is not before and self._verdict:
            return self._verdict.conclusion
        if self._stopping:
            return "cancelled"
        if ended.code == 0:
            return "succeeded"
        how = f"code {ended.code}" if ended.signal is None else _signal_name(ended.signal)
        if self._executor.usage().oom_kills:
            limit = self._order.limits.memory_bytes
            verdict = verdicts.infrastructure(
                "out_of_memory", f"step {step.name} ended with {how}: the job reached its {limit} bytes of memory"
            )
            self._log(self._spool.note, verdict.evidence, self._step)
        elif fault := self._disk.fault():
            # What the step died of, though it could not tell.
            self._disk_is_full(fault)
            return "failed"
        else:
            verdict = verdicts.step_failed(f"step {step.name} ended with {how}")
        verdict.exit_code, verdict.signal = ended.code, ended.signal
        self._decide(verdict)
        return "failed"

    def _turn(self) -> None:
        now = now_ms()
        candidates = (self._ladder.deadline, self._job_deadline, self._step_deadline, self._spool.deadline)
        until = min((one for one in candidates if one is not None), default=self._watch_at)
        wait = 0 if self._disk.busy else max(0, min(until, self._watch_at) - now)
        for descriptor, _ in self._poller.poll(wait):
            if descriptor == self._output:
                self._read()
            elif descriptor == self._executor.descriptor:
                self._exit = self._executor.poll() or self._exit
            else:
                for message in self._agents.handle(descriptor):
                    self._obey(message)
        self._be_punctual(now_ms())
        self._agents.notify(self._spool.length, self._directory.sequence)

    def _be_punctual(self, now: int) -> None:
        if self._shutdown.asked:
            self.cancel("the runner's host asked its processes to end")
        if self._job_deadline is not None and now >= self._job_deadline:
            self._job_deadline = None
            self._stop(verdicts.timed_out(self._order.timeout_ms))
            self._ladder.begin(now)
        if self._step_deadline is not None and now >= self._step_deadline:
            self._step_deadline = None
            step = self._order.steps[self._step]
            self._decide(verdicts.step_timed_out(step.name, step.timeout_ms))
            self._ladder.begin(now)
        rung = self._ladder.due(now)
        if rung == KILL:
            self._executor.kill()
        elif rung in (INTERRUPT, TERMINATE):
            self._executor.signal(self._handle, signal.SIGINT if rung == INTERRUPT else signal.SIGTERM)
        if now >= self._watch_at or self._disk.busy:
            self._watch_at = now + _WATCH_MS
            if fault := self._disk.fault():
                self._disk_is_full(fault)
        self._log(self._spool.flush_if_due, now)

    def _obey(self, message: dict[str, Any]) -> None:
        if message.get("do") == "cancel":
            self.cancel(message.get("reason", ""))
        elif message.get("do") == "kill":
            self._stop(verdicts.cancelled("killed"))
            self._ladder.kill(now_ms())

    def _read(self) -> int:
        try:
            data = os.read(self._output, _READ_BYTES)
        except BlockingIOError:
            return 0
        if not self._full:
            self._log(self._spool.write, data, self._step)
        return len(data)

    def _drain(self) -> None:
        """Take what is in the pipe, but not for ever: something in the background may go on writing."""
        room = _PIPE_BYTES
        while room > 0 and (count := self._read()):
            room -= count

    def _log(self, action: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> bool:
        """Do something that writes; a full disk ends the job, not this process. Say whether it worked."""
        try:
            action(*args, **kwargs)
        except DiskFull as reason:
            self._disk_is_full(str(reason))
            return False
        return True

    def _decide(self, verdict: Verdict) -> None:
        self._verdict = self._verdict or verdict

    def _stop(self, verdict: Verdict) -> None:
        """Decide, and leave out even the steps that run always: whoever ends a job wants it to be over."""
        self._decide(verdict)
        self._stopping = True

    def _disk_is_full(self, evidence: str) -> None:
        if not self._full:
            self._full = True
            self._stop(verdicts.infrastructure("disk_full", evidence))
            self._directory.release_reserve()
        self._ladder.kill(now_ms())

    def _sweep(self) -> None:
        """End whatever the steps left behind, and say so."""
        self._memory_peak = self._executor.usage().memory_peak_bytes or self._memory_peak
        leftovers: tuple[Leftover, ...] = ()
        try:
            leftovers = self._executor.close()
        except ExecutorError as reason:
            self.survived = True
            self._decide(verdicts.infrastructure(reason.code, str(reason)))
        self._drain()
        self._log(self._spool.end_step, self._step)
        if leftovers:
            shown = ", ".join(f"{left.name} ({left.pid})" for left in leftovers[:_SHOWN])
            more = f" and {len(leftovers) - _SHOWN} more" if len(leftovers) > _SHOWN else ""
            self._log(self._spool.note, f"killed what the job left running: {shown}{more}", self._step)
        self._log(self._spool.flush)

    def _event(self, kind: str, index: int, **details: object) -> None:
        event = {"kind": kind, "step": index, "at_micros": now_micros(), **details}
        # The second time there is the reserve.
        _ = self._log(self._directory.append_event, event) or self._log(self._directory.append_event, event)
        self._agents.notify(self._spool.length, self._directory.sequence)

    def _finish(self) -> None:
        self._spool.close(self._step)
        os.close(self._output)
        os.close(self._pipe)
        verdict = self._verdict
        result = {
            "conclusion": verdict.conclusion if verdict else "succeeded",
            "cause": verdict.cause if verdict else "",
            "detail": verdict.detail if verdict else "",
            "evidence": self._spool.masked(verdict.evidence) if verdict else "",
            "exit_code": verdict.exit_code if verdict else 0,
            "signal": verdict.signal if verdict else None,
            "log_bytes": self._spool.length,
            "log_lines": self._spool.lines,
            "duration_ms": now_ms() - self._began,
            "usage": {"cpu_micros": self._cpu_micros, "memory_peak_bytes": self._memory_peak},
        }
        self._directory.release_reserve()
        self._directory.write_result(result)
        self._agents.close({"log": self._spool.length, "event": self._directory.sequence, "result": True})


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
