"""One job of a workflow from outside: what may end it early, how its end is explained, and the result.

The twin of ``agent.supervisor.job``: whenever there is nothing to do it takes a ``_turn``, one ``poll`` over the pipes,
the executor and the agents, then whatever is due by time, then the engine's tasks go on as far as they can.
"""

from __future__ import annotations

import errno
import gc
import select
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

from ostler.actions.engine.job import Job, JobEnd
from ostler.actions.engine.machine import Leash
from ostler.actions.engine.scope import JobState, Services
from ostler.actions.engine.turns import Task, Tasks
from ostler.agent.supervision import JobOrder
from ostler.agent.supervisor import verdict as verdicts
from ostler.agent.supervisor.channel import Channel
from ostler.agent.supervisor.clock import now_micros, now_ms
from ostler.agent.supervisor.control import Agents
from ostler.agent.supervisor.directory import Directory, DiskFull
from ostler.agent.supervisor.life import Shutdown
from ostler.agent.supervisor.verdict import Verdict
from ostler.agent.supervisor.watch import FLOOR_BYTES, DiskWatch
from ostler.agent.workflow_supervisor.actions import JobActions
from ostler.agent.workflow_supervisor.hands import Hands
from ostler.agent.workflow_supervisor.processes import Processes
from ostler.agent.workflow_supervisor.step_log import StepLog
from ostler.executors.contract import Executor
from ostler.executors.errors import ExecutorError, LimitUnavailable, NetworkUnavailable
from ostler.executors.values import Exit, Leftover, Limits, Place
from ostler.protocol.v1.program import JobProgram

_WATCH_MS = 1_000
_SHOWN = 10
_CONFIGURATION = ("docker_unavailable", "node_unavailable", "shell_unavailable")


class WorkflowRun:
    """Everything that is known of the running job."""

    def __init__(
        self, order: JobOrder, directory: Directory, executor: Executor, handover: Channel, shutdown: Shutdown
    ) -> None:
        self.attempt = f"{order.job_id}.{order.fence}"
        self.isolation = order.isolation
        self.survived = False
        self._order = order
        self._directory = directory
        self._executor = executor
        self._shutdown = shutdown
        self._log = StepLog(directory, order.secrets, order.limits.log_bytes)
        self._disk = DiskWatch(directory.path, order.limits.disk_bytes, FLOOR_BYTES)
        self._poller = select.poll()
        self._agents = Agents(handover, directory, self._poller)
        self._tasks = Tasks()
        graces = (order.interrupt_grace_ms, order.terminate_grace_ms)
        self._processes = Processes(executor, self._poller, graces, self._command_ended)
        self._hands = Hands(order, directory.path, self._tasks, self._processes, self._log, self._guarded, self._report)
        program = order.program or JobProgram(job_id="", steps=[])
        self._job = Job(
            JobState(
                program,
                order.program_secrets,
                _services(order),
                self._hands,
                _environment(order, directory.path),
            ),
            JobActions(order, directory.path),
        )
        self._began = now_ms()
        self._deadline: int | None = self._began + order.timeout_ms if order.timeout_ms else None
        self._end_by: int | None = None
        self._patience_ms = program.cancel_timeout_ms
        """How long what runs in spite of a cancellation may go on."""
        self._watch_at = self._began
        self._verdict: Verdict | None = None
        self._oom_kills = 0
        self._full = False

    def open(self) -> None:
        """Make the place for the job's processes; a job that cannot have it fails without running anything."""
        order = self._order
        if order.isolation != self._executor.isolation:
            evidence = f"this runner cannot isolate a job as {order.isolation}"
            self._refuse(verdicts.configuration("isolation_unavailable", evidence))
            return
        limits = Limits(
            memory_bytes=order.limits.memory_bytes, cpu_millis=order.limits.cpu_millis, pids=order.limits.pids
        )
        try:
            self._executor.open(Place(self.attempt, limits, order.network))
        except (LimitUnavailable, NetworkUnavailable) as reason:
            self._refuse(verdicts.configuration(reason.code, str(reason)))

    def run(self) -> None:
        """Run the job to its end and store the result."""
        self._poller.register(self._executor.descriptor, select.POLLIN)
        end: JobEnd | None = None
        if self._verdict is None:
            end = self._follow(self._tasks.start(self._job.run()))
        self._sweep()
        self._finish(end)
        gc.collect()

    def cancel(self, reason: str) -> None:
        """Begin to end the job: steps whose condition says so still run, for as long as there is patience."""
        self._begin_end(verdicts.cancelled(reason))

    # The job's way.

    def _follow(self, task: Task[JobEnd]) -> JobEnd | None:
        try:
            self._tasks.advance()
            while not task.ended.done:
                self._turn()
                self._tasks.advance()
        except DiskFull as reason:
            self._disk_is_full(str(reason))
        except OSError as reason:
            if reason.errno not in (errno.ENOSPC, errno.EDQUOT):
                self._broke(reason)
            else:
                self._disk_is_full(str(reason))
        except Exception as reason:  # noqa: BLE001 - whatever it is, the job must have a result that says it
            self._broke(reason)
        else:
            return task.ended.value
        self._tasks.close()
        self._processes.kill()
        return None

    def _broke(self, reason: Exception) -> None:
        """End a job that ran into a defect; whoever looks after the runner finds where."""
        traceback.print_exception(reason, file=sys.stderr)
        self._decide(verdicts.infrastructure("engine_error", f"{type(reason).__name__}: {reason}"))

    def _turn(self) -> None:
        now = now_ms()
        candidates = (self._processes.deadline, self._deadline, self._end_by, self._log.deadline)
        until = min((one for one in candidates if one is not None), default=self._watch_at)
        wait = 0 if self._disk.busy else max(0, min(until, self._watch_at) - now)
        for descriptor, _ in self._poller.poll(wait):
            if self._processes.owns(descriptor):
                self._processes.read(descriptor)
            elif descriptor == self._executor.descriptor:
                self._processes.collect()
            else:
                for message in self._agents.handle(descriptor):
                    self._obey(message)
        self._be_punctual(now_ms())
        self._agents.notify(self._log.length, self._directory.sequence)

    def _be_punctual(self, now: int) -> None:
        if self._shutdown.asked and not self._halted:
            self._begin_end(verdicts.cancelled("the runner's host asked its processes to end"))
            self._job.halt()
            self._processes.stop_all("cancelled")
        if self._deadline is not None and now >= self._deadline:
            self._deadline = None
            self._begin_end(verdicts.timed_out(self._order.timeout_ms))
        if self._end_by is not None and now >= self._end_by:
            self._end_by = None
            self._halt()
        self._processes.be_punctual(now)
        if now >= self._watch_at or self._disk.busy:
            self._watch_at = now + _WATCH_MS
            if fault := self._disk.fault():
                self._disk_is_full(fault)
        self._guarded(lambda: self._log.flush_if_due(now))

    def _obey(self, message: dict[str, Any]) -> None:
        if message.get("do") == "cancel":
            self.cancel(message.get("reason", ""))
        elif message.get("do") == "kill":
            self._decide(verdicts.cancelled("killed"))
            self._halt()

    @property
    def _halted(self) -> bool:
        return self._job.halted

    def _begin_end(self, verdict: Verdict) -> None:
        self._decide(verdict)
        if self._end_by is None:
            self._end_by = now_ms() + self._patience_ms
        self._job.cancel()

    def _halt(self) -> None:
        self._job.halt()
        self._processes.kill()

    def _command_ended(self, leash: Leash, ended: Exit) -> None:
        self._hands.count(leash, ended)
        if ended.code == 0:
            return
        kills = self._executor.usage().oom_kills
        if kills > self._oom_kills:
            self._oom_kills = kills
            limit = self._order.limits.memory_bytes
            self._guarded(lambda: self._log.note(f"the job reached its {limit} bytes of memory", leash.number))
        elif fault := self._disk.fault():
            self._disk_is_full(fault)

    # What is written.

    def _guarded(self, action: Callable[[], object]) -> bool:
        """Do something that writes; a full disk ends the job, not this process. Say whether it worked."""
        if self._full:
            return False
        try:
            action()
        except DiskFull as reason:
            self._disk_is_full(str(reason))
            return False
        return True

    def _report(self, event: dict[str, object]) -> None:
        stamped = {**event, "at_micros": now_micros()}
        try:
            self._directory.append_event(stamped)
        except DiskFull as reason:
            self._disk_is_full(str(reason))
            try:
                self._directory.append_event(stamped)  # the second time there is the reserve
            except DiskFull:
                pass
        self._agents.notify(self._log.length, self._directory.sequence)

    # The end.

    def _decide(self, verdict: Verdict) -> None:
        self._verdict = self._verdict or verdict

    def _refuse(self, verdict: Verdict) -> None:
        self._decide(verdict)

    def _disk_is_full(self, evidence: str) -> None:
        if not self._full:
            self._full = True
            self._decide(verdicts.infrastructure("disk_full", evidence))
            self._directory.release_reserve()
        self._halt()

    def _sweep(self) -> None:
        """End whatever the steps left behind, and say so."""
        self._hands.memory_peak = self._executor.usage().memory_peak_bytes or self._hands.memory_peak
        leftovers: tuple[Leftover, ...] = ()
        try:
            leftovers = self._executor.close()
        except ExecutorError as reason:
            self.survived = True
            self._decide(verdicts.infrastructure(reason.code, str(reason)))
        self._processes.drain()
        step = self._job.last_number
        self._guarded(lambda: self._log.end_step(step))
        if leftovers:
            shown = ", ".join(f"{left.name} ({left.pid})" for left in leftovers[:_SHOWN])
            more = f" and {len(leftovers) - _SHOWN} more" if len(leftovers) > _SHOWN else ""
            self._guarded(lambda: self._log.note(f"killed what the job left running: {shown}{more}", step))
        self._guarded(self._log.flush)

    def _finish(self, end: JobEnd | None) -> None:
        self._log.close(self._job.last_number)
        self._processes.close()
        verdict = self._verdict or self._explained(end)
        result = {
            "conclusion": verdict.conclusion if verdict else "succeeded",
            "cause": verdict.cause if verdict else "",
            "detail": verdict.detail if verdict else "",
            "evidence": self._log.masked(verdict.evidence) if verdict else "",
            "exit_code": verdict.exit_code if verdict else 0,
            "signal": verdict.signal if verdict else None,
            "log_bytes": self._log.length,
            "log_lines": self._log.lines,
            "duration_ms": now_ms() - self._began,
            "usage": {"cpu_micros": self._hands.cpu_micros, "memory_peak_bytes": self._hands.memory_peak},
            "outputs": end.outputs if end else {},
            "environment_url": end.environment_url if end else "",
        }
        self._directory.release_reserve()
        self._directory.write_result(result)
        self._agents.close({"log": self._log.length, "event": self._directory.sequence, "result": True})

    def _explained(self, end: JobEnd | None) -> Verdict | None:
        """Return why the job failed, by its first step that did."""
        if end is None or end.status == "success":
            return None
        failure = end.failure
        if failure is None:
            return verdicts.step_failed("a step failed")
        if failure.fault in _CONFIGURATION or failure.fault.startswith("action_"):
            return verdicts.configuration(failure.fault, f"{failure.name}: {failure.message}")
        ending = failure.ending
        if failure.message or ending is None:
            verdict = verdicts.step_failed(f"step {failure.name}: {failure.message or 'it failed'}")
        else:
            how = f"code {ending.code}" if ending.signal is None else _signal_name(ending.signal)
            verdict = verdicts.step_failed(f"step {failure.name} ended with {how}")
        if self._oom_kills:
            limit = self._order.limits.memory_bytes
            verdict = verdicts.infrastructure(
                "out_of_memory", f"{verdict.evidence}: the job reached its {limit} bytes of memory"
            )
        if ending is not None:
            verdict.exit_code, verdict.signal = ending.code, ending.signal
        return verdict


def _services(order: JobOrder) -> Services:
    told = order.services
    return Services(
        cache=told.cache,
        mirrors=told.mirrors,
        source=told.source,
        store=told.store,
        server=told.server,
        token=told.token,
        node=told.node,
        reach=told.reach,
    )


def _environment(order: JobOrder, path: str) -> dict[str, str]:
    """Return what every program of the job gets, as the steps of plain jobs do."""
    return {
        **order.env,
        "OSTLER_JOB_ID": order.job_id,
        "OSTLER_FENCE": str(order.fence),
        "OSTLER_WORKSPACE": f"{path}/work",
    }


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
