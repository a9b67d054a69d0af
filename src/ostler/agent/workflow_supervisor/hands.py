"""What the engine asks for, done: programs, log, masks, reports. See ``actions.engine.machine``."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Coroutine
from typing import TypeVar

import msgspec

from ostler.actions.engine.machine import Command, Ending, Host, Layout, Leash, StepEnd, StepNews, Stop
from ostler.actions.engine.output import Output
from ostler.actions.engine.turns import Task, Tasks
from ostler.agent.supervision import JobOrder
from ostler.agent.supervisor.clock import now_ms
from ostler.agent.workflow_supervisor.processes import Processes
from ostler.agent.workflow_supervisor.step_log import StepLog
from ostler.executors.values import Exit

T = TypeVar("T")

_SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
_ARCHITECTURES = {"x86_64": "X64", "amd64": "X64", "aarch64": "ARM64", "arm64": "ARM64", "armv7l": "ARM", "i686": "X86"}


class _Spent:
    """What one step has consumed so far."""

    def __init__(self, began: int) -> None:
        self.began = began
        self.cpu_micros = 0
        self.memory_peak = 0


class Hands:
    """See ``Machine``. ``guard`` does something that writes and copes with a full disk; ``report`` stores an event."""

    def __init__(
        self,
        order: JobOrder,
        path: str,
        tasks: Tasks,
        processes: Processes,
        log: StepLog,
        guard: Callable[[Callable[[], object]], object],
        report: Callable[[dict[str, object]], None],
    ) -> None:
        self.layout = Layout(
            workspace=f"{path}/work",
            temp=os.path.join(path, "tmp"),
            home=f"{path}/home",
            files=f"{path}/scripts",
            tool_cache=order.services.tool_cache or os.path.join(path, "tmp", "tool-cache"),
        )
        self.host = Host(
            name=order.services.runner_name or platform.node(),
            os=_SYSTEMS.get(sys.platform, sys.platform),
            arch=_ARCHITECTURES.get(platform.machine().lower(), platform.machine().upper()),
        )
        self._tasks = tasks
        self._processes = processes
        self._log = log
        self._guard = guard
        self._report = report
        self._spent: dict[int, _Spent] = {}
        self._beside: set[int] = set()
        self.cpu_micros = 0
        self.memory_peak = 0

    async def run(self, command: Command, output: Output, leash: Leash) -> Ending:
        return await self._processes.start(command, output, leash, beside=leash.number in self._beside)

    def limit(self, leash: Leash, milliseconds: int) -> None:
        self._processes.limit(leash, milliseconds)

    def stop(self, leash: Leash, why: Stop) -> None:
        self._processes.stop(leash, why)

    def spawn(self, work: Coroutine[object, object, T]) -> Task[T]:
        return self._tasks.start(work)

    def write(self, number: int, text: bytes) -> None:
        self._guard(lambda: self._log.write(text, number))

    def mask(self, secret: str) -> None:
        self._log.add_secret(secret)

    def masked(self, text: str) -> str:
        return self._log.masked(text)

    def step_started(self, news: StepNews) -> None:
        self._spent[news.number] = _Spent(now_ms())
        if news.background:
            self._beside.add(news.number)
            self._log.open_beside(news.number)
        self._report({"kind": "step_started", **_told(news)})

    def step_finished(self, news: StepNews, end: StepEnd) -> None:
        number = news.number
        self._guard(lambda: self._log.end_step(number))
        self._guard(self._log.flush)
        spent = self._spent.pop(number, None)
        first, last = self._log.lines_of(number)
        ending = end.ending
        self._report(
            {
                "kind": "step_finished",
                **_told(news),
                "conclusion": end.conclusion,
                "outcome": end.outcome,
                "exit_code": ending.code if ending else None,
                "signal": ending.signal if ending else None,
                "duration_ms": now_ms() - spent.began if spent else 0,
                "first_line": first,
                "last_line": last,
                "usage": {
                    "cpu_micros": spent.cpu_micros if spent else 0,
                    "memory_peak_bytes": spent.memory_peak if spent else 0,
                },
                "annotations": msgspec.to_builtins(end.annotations),
                "annotations_left_out": end.annotations_left_out,
                "summary": end.summary,
            }
        )

    def count(self, leash: Leash, ended: Exit) -> None:
        """Add what a command consumed to its step."""
        self.cpu_micros += ended.cpu_micros
        self.memory_peak = max(self.memory_peak, ended.memory_peak_bytes)
        spent = self._spent.get(leash.number)
        if spent is not None:
            spent.cpu_micros += ended.cpu_micros
            spent.memory_peak = max(spent.memory_peak, ended.memory_peak_bytes)


def _told(news: StepNews) -> dict[str, object]:
    told: dict[str, object] = {"step": news.number, "name": news.name, "program_step": news.program_step}
    if news.step_id:
        told["step_id"] = news.step_id
    if news.background:
        told["background"] = True
    return told
