"""The people of a simulated world: they submit, cancel and decide about runners through the real API.

Their intentions outlive their program, as those of people do: whatever was not answered is asked again, by the next
life if need be, under the same key. What was answered is a promise that the world is held to.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from ostler.client.caller import Client
from ostler.client.credentials import FixedToken
from ostler.client.errors import CircuitOpen, ProblemError, ReplyMalformed
from ostler.client.policy import Policy
from ostler.client.transport import TransportError
from ostler.domain.job import JobKind
from ostler.protocol.endpoint import Endpoint
from ostler.protocol.v1.fleet_messages import AdmissionRequest
from ostler.protocol.v1.run_messages import CancelRequest, RunView, SubmitRequest
from ostler.protocol.v1.spec import JobSpec, StepSpec
from ostler.protocol.v1.table import ADMIT_RUNNER, CANCEL_RUN, SUBMIT
from ostler.testing.attempt import LASTS
from ostler.testing.node import Process
from ostler.testing.world import World

Decision = Literal["pause", "resume", "drain", "disable", "enable", "quarantine", "revoke"]

PASSING = frozenset({401, 408, 429})
"""Refusals besides the server's own failures that a later try may not meet."""


class Submission(NamedTuple):
    """What the server accepted."""

    run_id: str
    job_id: str


class Wish(NamedTuple):
    """Something to ask for at a time."""

    at: float
    what: Literal["submit", "cancel", "cancel_running", "admit"]
    name: str
    kind: JobKind = JobKind.CI
    decision: Decision = "pause"
    lasts: int = 0


class People:
    """One program on a machine of their own."""

    def __init__(self, world: World, host: str, token: str, on_revoke: Callable[[str], None]) -> None:
        self.accepted: dict[str, Submission] = {}
        self._world = world
        self._host = host
        self._token = token
        self._on_revoke = on_revoke
        self._wishes: list[Wish] = []
        self._news = asyncio.Event()

    @property
    def done(self) -> bool:
        return not self._wishes

    @property
    def waiting(self) -> list[Wish]:
        return self._wishes[:3]

    def plan(self, jobs: int, seconds: float, runner_names: list[str]) -> None:
        """Wish for jobs of every kind, for some to be cancelled, and for changes of runners, at times of the seed."""
        random = self._world.random
        kinds = list(JobKind)
        for number in range(jobs):
            at = random.uniform(0, 0.8 * seconds)
            name = f"wish{number}"
            lasts = 30 + random.below(150) if random.below(3) == 0 else 0
            kind = kinds[(number + self._world.seed) % len(kinds)]
            self._wishes.append(Wish(at, "submit", name, kind, lasts=lasts))
            if random.below(4) == 0:
                self._wishes.append(Wish(at + random.uniform(0, 60), "cancel", name))
        decisions: tuple[Decision, ...] = ("pause", "resume", "drain", "disable", "enable", "quarantine", "revoke")
        for _ in range(random.below(5)):
            at = random.uniform(0, seconds)
            self._wishes.append(Wish(at, "admit", random.choice(runner_names), decision=random.choice(decisions)))
        self._sort()

    def undo(self, runner_names: list[str]) -> None:
        """Let every runner work again."""
        now = self._world.loop.time()
        for name in runner_names:
            self._wishes += [Wish(now, "admit", name, decision=decision) for decision in ("resume", "enable")]
        self._sort()

    def ask_calmly(self) -> dict[str, str]:
        """Wish for a job of every kind, and for one to be cancelled while it runs; return how each must end."""
        now = self._world.loop.time()
        expected: dict[str, str] = {}
        for kind in JobKind:
            name = f"calm_{kind.value}"
            self._wishes.append(Wish(now, "submit", name, kind, lasts=3))
            expected[name] = "succeeded"
        for kind in (JobKind.DEPLOYMENT, JobKind.INSIGHTS_SCAN):
            name = f"calm_cancelled_{kind.value}"
            self._wishes += [
                Wish(now, "submit", name, kind, lasts=300),
                Wish(now + 30, "cancel_running", name),
            ]
            expected[name] = "cancelled"
        self._sort()
        return expected

    async def program(self, process: Process) -> None:
        """Ask for what is due, one thing after the other."""
        loop = self._world.loop
        transport = self._world.network.transport(process, self._host)
        client = Client(transport, FixedToken(self._token), Policy(), process.effects)
        while True:
            if not self._wishes:
                self._news.clear()
                await self._news.wait()
                continue
            wish = self._wishes[0]
            if (left := wish.at - loop.time()) > 0:
                self._news.clear()
                try:
                    async with asyncio.timeout(left):
                        await self._news.wait()
                except TimeoutError:
                    pass
                continue
            await self._fulfil(process, client, wish)
            self._wishes.remove(wish)

    async def _fulfil(self, process: Process, client: Client, wish: Wish) -> None:
        if wish.what == "submit":
            step = StepSpec("work", script="true", env={LASTS: str(wish.lasts)} if wish.lasts else {})
            more = [StepSpec("more", script="true"), StepSpec("tidy", script="true", always=True)]
            steps = [step] if wish.lasts else [step, *more]
            request = SubmitRequest(JobSpec(wish.name, steps), key=f"key_of_{wish.name}", kind=wish.kind)
            view = await self._insist(process, client, SUBMIT, request)
            if view is None:
                raise RuntimeError(f"{wish.name} was refused")
            self.accepted[wish.name] = Submission(view.id, view.jobs[0].id)
        elif wish.what in ("cancel", "cancel_running"):
            run_id = self.accepted[wish.name].run_id
            await self._insist(process, client, CANCEL_RUN, CancelRequest("not wanted any more"), run_id=run_id)
        else:
            if wish.decision == "revoke":
                self._on_revoke(wish.name)
            request = AdmissionRequest(wish.decision, note="as people do")
            await self._insist(process, client, ADMIT_RUNNER, request, runner=wish.name)

    async def _insist(
        self, process: Process, client: Client, endpoint: Endpoint[Any, Any], request: object, **path: str
    ) -> RunView | None:
        """Ask until there is an answer; a refusal is one."""
        while True:
            try:
                return await client.call(
                    endpoint, request=request, query=None, deadline_seconds=None, probe=False, reconnect=True, **path
                )
            except ProblemError as error:
                if error.problem.status < 500 and error.problem.status not in PASSING:
                    return None
            except (TransportError, ReplyMalformed, CircuitOpen):
                pass
            await asyncio.sleep(process.effects.random.uniform(0.2, 3))

    def _sort(self) -> None:
        self._wishes.sort(key=lambda wish: wish.at)
        self._news.set()
