"""A job that is really only a script: what a supervisor would have run, printed and left on its machine.

Each attempt is a process of its own on the node, so that it outlives the agent, dies with the machine and can be killed
alone. What the job does (how long its steps take, what they print, whether they fail, whether they obey a signal) is
drawn from the seed.
"""

import asyncio
from collections.abc import Callable
from typing import Literal

from ostler.agent.supervision import Conclusion, JobOrder, JobResult, StepEvent
from ostler.logs.writer import LogWriter
from ostler.testing.history import History
from ostler.testing.node import Node, Process

LONGEST_STEP_SECONDS = 600.0
LASTS = "SIMULATED_SECONDS"
"""A step whose environment sets this lasts about so long and succeeds."""


class Attempt:
    """One attempt's directory and, while it runs, its process."""

    def __init__(self, node: Node, history: History, order: JobOrder) -> None:
        self.order = order
        self.frames: list[tuple[int, bytes]] = []
        self.length = 0
        self.events: list[StepEvent] = []
        self.result: JobResult | None = None
        self.followers: dict[Callable[[], None], None] = {}
        self._node = node
        self._history = history
        self._writer = LogWriter()
        self._stop: asyncio.Future[Literal["cancelled", "killed"]] = node.loop.create_future()
        self._process = node.start(self._run, f"job {order.job_id}.{order.fence}")
        self._process.watch(self._died)

    @property
    def running(self) -> bool:
        return self.result is None and self._process.alive

    def stop(self, how: Literal["cancelled", "killed"]) -> None:
        """The first signal counts: a job that is being cancelled is killed by the ladder, in its time."""
        if not self._stop.done():
            self._stop.set_result(how)
            if self.running:
                self._history.stopping(self.order.job_id, self.order.fence, how)

    def bury(self) -> None:
        """Kill what runs, and say that the attempt was lost if it left no result."""
        self._process.kill()
        if self.result is None:
            self._conclude("failed", cause="infrastructure", detail="supervisor_lost")

    def discard(self) -> None:
        self.followers.clear()
        self._process.kill()

    async def _run(self, process: Process) -> None:
        order = self.order
        self._history.executing(order.job_id, order.fence, self._node.name)
        work = asyncio.create_task(self._work(process))
        limit = order.timeout_ms / 1000 or None
        await asyncio.wait([work, self._stop], timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        signalled = not work.done()
        if signalled:
            await self._signal(process, work)
        self._flush()
        if not signalled:
            failed = work.result()
            self._conclude("failed" if failed else "succeeded", cause="step_failed" if failed else "")
        else:
            self._conclude(*(("cancelled", "cancelled") if self._stop.done() else ("timed_out", "timed_out")))

    async def _signal(self, process: Process, work: "asyncio.Task[bool]") -> None:
        """Three jobs in four obey an interrupt; the fourth is killed when its grace is over."""
        grace = (self.order.interrupt_grace_ms + self.order.terminate_grace_ms) / 1000
        obeys = process.effects.random.below(4) > 0
        if not self._stop.done() or self._stop.result() == "cancelled":
            await asyncio.wait([work], timeout=process.effects.random.uniform(0, grace) if obeys else grace)
        work.cancel()
        await asyncio.wait([work])

    async def _work(self, process: Process) -> bool:
        """Run the steps; return whether one failed."""
        random, failed = process.effects.random, False
        for index, step in enumerate(self.order.steps):
            if failed and not step.always:
                continue
            begun = self._node.loop.time()
            self._event(StepEvent(seq=len(self.events) + 1, kind="step_started", at_micros=self._now(), step=index))
            await asyncio.sleep(random.uniform(0.01, 0.1))
            lines = random.below(8)
            slow = LONGEST_STEP_SECONDS if random.below(16) == 0 else 3.0
            least = 0.0
            if LASTS in step.env:
                slow, lines, least = float(step.env[LASTS]), lines + 1, 1.0
            for line in range(lines):
                await asyncio.sleep(random.uniform(least, 1) * slow / lines)
                self._print(f"{step.name}: line {line} {random.token(random.below(40))}\n".encode(), index)
                if random.below(2):
                    self._flush()
            wrong = random.below(12) == 0 and LASTS not in step.env
            failed = failed or wrong
            self._flush()
            self._event(
                StepEvent(
                    seq=len(self.events) + 1,
                    kind="step_finished",
                    at_micros=self._now(),
                    step=index,
                    conclusion="failed" if wrong else "succeeded",
                    exit_code=int(wrong),
                    duration_ms=int((self._node.loop.time() - begun) * 1000),
                )
            )
        return failed

    def _now(self) -> int:
        return self._node.clock.now()

    def _print(self, text: bytes, step: int) -> None:
        self._history.printed(self.order.job_id, self.order.fence, text)
        self._keep(self._writer.write(text, self._now(), step))

    def _flush(self) -> None:
        self._keep(self._writer.flush())

    def _keep(self, frames: bytes) -> None:
        if frames:
            self.frames.append((self.length, frames))
            self.length = self._writer.offset
            self._tell()

    def _event(self, event: StepEvent) -> None:
        self.events.append(event)
        self._tell()

    def _conclude(self, conclusion: Conclusion, cause: str = "", detail: str = "") -> None:
        self.result = JobResult(conclusion=conclusion, cause=cause, detail=detail, log_bytes=self.length)
        told = "failed" if conclusion == "timed_out" else conclusion
        self._history.finished(self.order.job_id, self.order.fence, told)
        self._tell()

    def _died(self, power: bool) -> None:  # noqa: FBT001 - the form of a watcher
        self._history.gone(self.order.job_id, self.order.fence)
        if self.result is not None:
            return
        self._history.cut_short(self.order.job_id, self.order.fence)
        if power and self.frames:
            kept = self._node.disk.random.below(len(self.frames) + 1)
            self.length = self.frames[kept][0] if kept < len(self.frames) else self.length
            del self.frames[kept:]
        self._tell()

    def _tell(self) -> None:
        for follower in list(self.followers):
            follower()
