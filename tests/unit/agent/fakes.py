"""The agent's other doors: a disk in memory that can tear and fill up, supervisors that follow a script, a machine."""

import asyncio
import errno
from collections.abc import Callable
from typing import Self

from ostler.agent.agent import Agent
from ostler.agent.errors import SupervisorError
from ostler.agent.logging import Log
from ostler.agent.parts import AgentParts, AgentSettings
from ostler.agent.supervision import JobOrder, JobResult, StepEvent
from ostler.client.policy import Policy
from ostler.effects import Effects
from ostler.logs.frame import decode_all
from ostler.logs.writer import LogWriter
from ostler.protocol.v1.runner_messages import Metrics, SystemInfo
from tests.unit.agent.control_plane import REGISTRATION_TOKEN, ControlPlane, MemoryTransport
from tests.unit.client.simulated import simulated_effects


class MemoryDisk:
    """What is not synced is lost in a crash."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.durable: dict[str, bytes] = {}
        self.free = 1 << 40
        self.full = False
        self.syncs = 0
        self.on_append: Callable[[bytes], None] | None = None

    def append(self, path: str, data: bytes, *, sync: bool) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.files[path] = self.files.get(path, b"") + data
        if sync:
            self.durable[path] = self.files[path]
            self.syncs += 1
        if self.on_append is not None:
            self.on_append(data)

    def write(self, path: str, data: bytes) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.files[path] = self.durable[path] = data

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def remove(self, path: str) -> None:
        self.files.pop(path, None)
        self.durable.pop(path, None)

    def names(self, directory: str) -> list[str]:
        return sorted(path.removeprefix(f"{directory}/") for path in self.files if path.startswith(f"{directory}/"))

    def free_bytes(self) -> int:
        return self.free

    def crash(self) -> None:
        """Lose what was not synced."""
        self.files = dict(self.durable)


class FakeSupervisor:
    """An attempt under the test's control. It outlives agents, as the real ones do."""

    def __init__(self, order: JobOrder) -> None:
        self.order = order
        self.job_id, self.fence = order.job_id, order.fence
        self.cancelled = ""
        self.killed = False
        self._writer = LogWriter(frame_text=32 << 10)
        self._frames: list[tuple[int, bytes]] = []
        self._events: list[StepEvent] = []
        self._result: JobResult | None = None
        self._lines = 0
        self._news = asyncio.Event()

    # What tests do.

    def say(self, text: bytes) -> None:
        """Write log text."""
        self._frames += _split(self._writer.write(text, 1_000_000, 0) + self._writer.flush())
        self._lines += text.count(b"\n")
        self._news.set()

    def step(self, kind: str, at_micros: int = 0) -> None:
        """Report a step's start or end."""
        started = kind == "step_started"
        self._events.append(
            StepEvent(
                seq=len(self._events) + 1,
                kind="step_started" if started else "step_finished",
                at_micros=at_micros,
                step=0,
                name="step 0",
                conclusion=None if started else "succeeded",
                exit_code=None if started else 0,
            )
        )
        self._news.set()

    def end(self, result: JobResult | None = None) -> None:
        """End the attempt."""
        given = result or JobResult(conclusion="succeeded", exit_code=0)
        self._result = JobResult(
            conclusion=given.conclusion,
            cause=given.cause,
            detail=given.detail,
            evidence=given.evidence,
            exit_code=given.exit_code,
            log_bytes=self._writer.offset,
            log_lines=self._lines,
            duration_ms=5,
        )
        self._news.set()

    # What the agent does.

    async def changed(self) -> None:
        await self._news.wait()
        self._news.clear()

    def events(self, after: int) -> list[StepEvent]:
        return self._events[after:]

    def log_length(self) -> int:
        return self._writer.offset

    def log_frames(self, offset: int, limit: int) -> bytes:
        data = b""
        for start, frame in self._frames:
            if start >= offset and (not data or len(data) + len(frame) <= limit):
                if not data and start != offset:
                    raise ValueError(f"{offset} is not the start of a frame")
                data += frame
        return data

    def result(self) -> JobResult | None:
        return self._result

    async def cancel(self, reason: str) -> None:
        self.cancelled = reason
        if self._result is None:
            self.end(JobResult(conclusion="cancelled", cause="cancelled", evidence=reason))

    async def kill(self) -> None:
        self.killed = True
        if self._result is None:
            self.end(JobResult(conclusion="failed", cause="infrastructure", detail="killed"))


class FakeSupervisors:
    """Starts attempts that follow ``script``; by default they say their step's text and succeed."""

    def __init__(self, script: Callable[[FakeSupervisor], None] | None = None) -> None:
        self.script = script or quick
        self.attempts: dict[tuple[str, int], FakeSupervisor] = {}
        self.launched: list[JobOrder] = []
        self.discarded: list[tuple[str, int]] = []
        self.broken = False
        self.before_launch: Callable[[], None] | None = None

    async def launch(self, order: JobOrder) -> FakeSupervisor:
        if self.broken:
            raise SupervisorError("no process could be started")
        if self.before_launch:
            self.before_launch()
        assert (order.job_id, order.fence) not in self.attempts, "the same attempt was launched twice"
        self.launched.append(order)
        supervisor = FakeSupervisor(order)
        self.attempts[order.job_id, order.fence] = supervisor
        self.script(supervisor)
        return supervisor

    async def adopt(self, job_id: str, fence: int) -> FakeSupervisor | None:
        found = self.attempts.get((job_id, fence))
        if found is not None:
            found._news.set()
        return found

    def found(self) -> list[tuple[str, int]]:
        return list(self.attempts)

    async def discard(self, job_id: str, fence: int) -> None:
        self.discarded.append((job_id, fence))
        self.attempts.pop((job_id, fence), None)

    async def close(self) -> None:
        return


def quick(supervisor: FakeSupervisor) -> None:
    """Say the script's text, succeed."""
    supervisor.step("step_started")
    supervisor.say(supervisor.order.steps[0].script.encode() + b"\n")
    supervisor.step("step_finished")
    supervisor.end()


def patient(supervisor: FakeSupervisor) -> None:
    """Begin and wait for the test."""
    supervisor.step("step_started")


class FakeMachine:
    """A small quiet machine."""

    def system(self) -> SystemInfo:
        return SystemInfo(os="TestOS", cpus=2, memory_bytes=1 << 30, disk_bytes=1 << 40)

    def metrics(self) -> Metrics:
        return Metrics(cpu_percent=1.0)


class FakeTools:
    """Two tools."""

    async def detect(self) -> dict[str, str]:
        return {"git": "2.50.1", "node": "24.1.0"}


FAST = Policy(
    timeout_seconds=5.0,
    retries=2,
    wait_seconds=0.02,
    max_wait_seconds=0.05,
    reconnect_seconds=0.001,
    max_reconnect_seconds=0.01,
)


class Bench:
    """One agent with everything around it; ``restart`` gives it a successor on the same disk."""

    def __init__(self, plane: ControlPlane | None = None, **settings: object) -> None:
        self.plane = plane or ControlPlane()
        self.transport = MemoryTransport(self.plane)
        self.disk = MemoryDisk()
        self.supervisors = FakeSupervisors()
        self.effects: Effects = simulated_effects()
        self.token = REGISTRATION_TOKEN
        self.records: list[dict[str, object]] = []
        self._settings = settings
        self._task: asyncio.Task[None] | None = None
        self.agent = self._make()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self.agent.run())
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.agent.detach()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def ended(self) -> None:
        """Wait for the agent to end by itself."""
        assert self._task is not None
        async with asyncio.timeout(10):
            await self._task

    async def restart(self, *, crash: bool = True) -> None:
        """Kill this agent without a word and start the next one."""
        assert self._task is not None
        self.agent._detached = True
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if crash:
            self.disk.crash()
        self.agent = self._make()
        self._task = asyncio.create_task(self.agent.run())

    def supervisor(self, job_id: str) -> FakeSupervisor:
        return next(attempt for (job, _), attempt in self.supervisors.attempts.items() if job == job_id)

    def _make(self) -> Agent:
        values = {
            "name": "test-runner",
            "service_url": "http://control.example",
            "token": lambda: self.token,
            "policy": FAST,
            **self._settings,
        }
        return Agent(
            AgentParts(
                settings=AgentSettings(**values),  # pyright: ignore[reportArgumentType]
                effects=self.effects,
                transport=self.transport,
                disk=self.disk,
                supervisors=self.supervisors,
                machine=FakeMachine(),
                tools=FakeTools(),
                log=Log(lambda _, record: self.records.append(dict(record)), self.effects.clock, debug=True),
            )
        )


def _split(frames: bytes) -> list[tuple[int, bytes]]:
    parts: list[tuple[int, bytes]] = []
    position = 0
    for frame in decode_all(frames):
        length = frame.header.frame_length
        parts.append((frame.header.first_offset, frames[position : position + length]))
        position += length
    return parts
