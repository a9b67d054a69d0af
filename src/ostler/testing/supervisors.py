"""The agent's `Supervisors` on a simulated node: scripted attempts instead of real processes."""

import asyncio

from ostler.agent.errors import SupervisorError
from ostler.agent.supervision import JobOrder, JobResult, StepEvent
from ostler.testing.attempt import Attempt
from ostler.testing.faults import Fault, Faults
from ostler.testing.history import History
from ostler.testing.node import Node, Process


class Attempts:
    """The directory of attempts on one node; it outlives every agent."""

    def __init__(self, node: Node, history: History, faults: Faults) -> None:
        self.faults = faults
        self.kept: dict[tuple[str, int], Attempt] = {}
        self._node = node
        self._history = history

    def start(self, order: JobOrder) -> Attempt:
        attempt = self.kept[order.job_id, order.fence] = Attempt(self._node, self._history, order)
        return attempt


class SimSupervisor:
    """One attempt as one agent process follows it."""

    def __init__(self, agent: Process, attempt: Attempt) -> None:
        self.job_id = attempt.order.job_id
        self.fence = attempt.order.fence
        self._agent = agent
        self._attempt = attempt
        self._news = asyncio.Event()
        self._news.set()
        attempt.followers[self._news.set] = None

    async def changed(self) -> None:
        await self._news.wait()
        self._news.clear()

    def events(self, after: int) -> list[StepEvent]:
        self._agent.check()
        return self._attempt.events[after:]

    def log_length(self) -> int:
        self._agent.check()
        return self._attempt.length

    def log_frames(self, offset: int, limit: int) -> bytes:
        self._agent.check()
        taken = b""
        for begin, frames in self._attempt.frames:
            if begin < offset:
                continue
            if taken and len(taken) + len(frames) > limit:
                break
            taken += frames
        return taken

    def result(self) -> JobResult | None:
        self._agent.check()
        if self._attempt.result is None and not self._attempt.running:
            self._attempt.bury()
        return self._attempt.result

    async def cancel(self, reason: str) -> None:
        self._agent.check()
        self._attempt.stop("cancelled")

    async def kill(self) -> None:
        self._agent.check()
        self._attempt.stop("killed")


class SimSupervisors:
    """See `ostler.agent.supervision.Supervisors`; one for each agent process."""

    def __init__(self, agent: Process, attempts: Attempts) -> None:
        self._agent = agent
        self._attempts = attempts

    async def launch(self, order: JobOrder) -> SimSupervisor:
        self._killed()
        if (order.job_id, order.fence) in self._attempts.kept:
            raise SupervisorError(f"attempt {order.job_id}.{order.fence} was launched before")
        await asyncio.sleep(self._agent.effects.random.uniform(0, 0.05))
        if self._attempts.faults.fires(Fault.LAUNCH_FAILED):
            raise SupervisorError("the simulated machine could not start a process")
        attempt = self._attempts.start(order)
        self._killed()
        return SimSupervisor(self._agent, attempt)

    async def adopt(self, job_id: str, fence: int) -> SimSupervisor | None:
        self._agent.check()
        attempt = self._attempts.kept.get((job_id, fence))
        if attempt is None:
            return None
        await asyncio.sleep(self._agent.effects.random.uniform(0, 0.05))
        if attempt.result is None and not attempt.running:
            return None
        return SimSupervisor(self._agent, attempt)

    def found(self) -> list[tuple[str, int]]:
        self._agent.check()
        return sorted(self._attempts.kept)

    async def discard(self, job_id: str, fence: int) -> None:
        self._agent.check()
        attempt = self._attempts.kept.pop((job_id, fence), None)
        if attempt is not None:
            attempt.discard()

    async def close(self) -> None:
        """Nothing is held: attempts go on by themselves."""

    def _killed(self) -> None:
        if self._attempts.faults.fires(Fault.KILL_AT_LAUNCH):
            self._agent.kill()
        self._agent.check()
