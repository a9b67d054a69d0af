"""One step's life: its variables, its condition, what it runs, and what is concluded from how that ended.

The same for the steps of the file and for those inside composite actions; what people see of it is reported by ``job``.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from ostler.actions.engine.calls import Call, Calls, Post, docker_unavailable
from ostler.actions.engine.composite import inner_place, run_composite
from ostler.actions.engine.evaluation import BadTemplate, flag, holds, number
from ostler.actions.engine.frame import Frame, Result, StepFault
from ostler.actions.engine.machine import Leash, Outcome
from ostler.actions.engine.programs import run_program
from ostler.actions.engine.scope import JobState, Place
from ostler.actions.engine.script import run_script
from ostler.actions.engine.track import Track
from ostler.domain.machine import Refused
from ostler.expr.values import Value
from ostler.protocol.v1.program import Step
from ostler.workflow.action_model import CompositeRuns, DockerRuns, NodeRuns

_ALWAYS: Final = "always()"
_WORDS: Final[dict[Outcome, str]] = {
    "succeeded": "success",
    "failed": "failure",
    "cancelled": "cancelled",
    "skipped": "skipped",
}
_MINUTE_MS: Final = 60_000

Work = Callable[[], Awaitable[Outcome]]
Started = Callable[[Frame], None]
"""Called when it is certain that a step runs."""


class Steps:
    """Runs steps of one job."""

    def __init__(self, job: JobState, calls: Calls, register: Callable[[Track, Post], None]) -> None:
        self._job = job
        self._calls = calls
        self._register = register

    async def run(
        self, step: Step, place: Place, track: Track, call: Call | None = None, started: Started | None = None
    ) -> Result:
        """Run a main step."""
        name = call.name if call is not None else self._job.step_name(step)
        frame = Frame(self._job, place, track, step, name, state={} if call is None else call.state)
        try:
            frame.evaluate_env()
            wanted = self._condition(frame, step.if_)
        except BadTemplate as reason:
            return self._refused(frame, reason, started)
        if not wanted():
            frame.finish()
            return Result("skipped", "skipped")
        track.conditions.append(wanted)
        if place.embedded and track.leash.stop == "cancelled":
            track.leash = Leash(track.number)  # its condition says that it runs all the same
        if started is not None:
            started(frame)
        try:
            return await self._perform(frame, lambda: self._main(frame, call))
        finally:
            track.conditions.pop()

    async def nested(self, step: Step, place: Place, track: Track, call: Call | None) -> Result:
        """Run a step of a composite action."""
        result = await self.run(step, place, track, call)
        if result.conclusion == "failed" and not place.failed:
            place.trouble = (result.fault, result.message)
        commit(self._job, place, step, result)
        return result

    async def pre(self, call: Call, place: Place, track: Track, started: Started | None = None) -> Result:
        """Run what an action wants to be run before all main steps."""
        frame = Frame(self._job, place, track, call.step, call.name, state=call.state, main=False)
        runs = call.action.runs
        try:
            frame.evaluate_env()
            if isinstance(runs, NodeRuns) and not self._condition(frame, runs.pre_if or _ALWAYS, as_it_is=True)():
                frame.finish()
                return Result("skipped", "skipped")
        except BadTemplate as reason:
            return self._refused(frame, reason, started)
        if started is not None:
            started(frame)
        return await self._perform(frame, lambda: self._pre(frame, call))

    async def post(self, post: Post, track: Track, started: Started | None = None) -> Result:
        """Run what an action wants to be run after all main steps."""
        call = post.call
        frame = Frame(self._job, post.place, track, call.step, call.name, state=call.state, main=False)
        runs = call.action.runs
        assert isinstance(runs, NodeRuns)  # noqa: S101 - nothing else has posts of its own
        try:
            frame.evaluate_env()
            wanted = self._condition(frame, runs.post_if or _ALWAYS, as_it_is=True)
        except BadTemplate as reason:
            return self._refused(frame, reason, started)
        if not wanted():
            frame.finish()
            return Result("skipped", "skipped")
        track.conditions.append(wanted)
        if started is not None:
            started(frame)
        try:
            return await self._perform(frame, lambda: run_program(frame, call, runs, runs.post))
        finally:
            track.conditions.pop()

    def _condition(self, frame: Frame, written: str, *, as_it_is: bool = False) -> Callable[[], bool]:
        """Return the condition as a question that may be asked again; a mistake in it is raised here and now."""

        def wanted() -> bool:
            if not written.strip():
                return frame.view.all_is_well()
            return holds(written, frame.view.scope(status=True, secrets=False), as_it_is=as_it_is)

        wanted()
        return wanted

    def _refused(self, frame: Frame, reason: Exception, started: Started | None) -> Result:
        if started is not None:
            started(frame)
        frame.conversation.error(str(reason))
        frame.finish()
        return self._concluded(frame, "failed", str(reason), "")

    async def _perform(self, frame: Frame, work: Work) -> Result:
        """Do the work under its time limit and conclude."""
        step, track, job = frame.step, frame.track, self._job
        message = fault = ""
        minutes = 0.0
        try:
            minutes = number("timeout-minutes", step.timeout_minutes, frame.view.plain())
            if minutes > 0 and not frame.place.embedded:
                job.machine.limit(track.leash, max(1, round(minutes * _MINUTE_MS)))
            outcome = await work()
        except (BadTemplate, StepFault) as reason:
            message, fault = str(reason), reason.code
            frame.conversation.error(message)
            outcome = "failed"
        if outcome == "failed" and not fault:
            fault, message = frame.trouble
        if not frame.place.embedded:
            job.machine.limit(track.leash, 0)
        frame.finish()
        if track.leash.stop == "timed_out":
            message = f"The step ran longer than its {minutes:g} minutes."
            if not frame.place.embedded:
                frame.conversation.error(message)
            outcome = "failed"
        elif track.leash.stop == "cancelled":
            frame.conversation.error("The operation was canceled.")
            outcome = "cancelled"
        elif frame.conversation.failed and outcome == "succeeded":
            outcome, message = "failed", "one of its workflow commands or files could not be carried out"
        return self._concluded(frame, outcome, message, fault)

    def _concluded(self, frame: Frame, outcome: Outcome, message: str, fault: str) -> Result:
        conclusion = outcome
        if outcome == "failed":
            try:
                if flag("continue-on-error", frame.step.continue_on_error, frame.view.scope()):
                    conclusion = "succeeded"
            except BadTemplate as reason:
                frame.conversation.error(str(reason))
        return Result(
            outcome,
            conclusion,
            timed_out=frame.track.leash.stop == "timed_out",
            ending=frame.ending,
            outputs=frame.conversation.outputs,
            fault=fault,
            message=message,
        )

    async def _main(self, frame: Frame, call: Call | None) -> Outcome:
        step = frame.step
        if step.run is not None:
            return await run_script(frame)
        if step.uses is None:
            raise StepFault("Steps of composite actions have either `run` or `uses`.", "step")
        if call is None:
            loaded = self._calls.local(step, frame.place.depth)
            if isinstance(loaded, Refused):
                raise StepFault(loaded.reason, loaded.code)
            call = loaded
            if call.has_pre and not call.at.repository:
                frame.conversation.warning(f"`pre` execution is not supported for local action from '{step.uses}'")
            frame.conversation.state = call.state
        runs = call.action.runs
        if isinstance(runs, DockerRuns):
            refused = docker_unavailable(step.uses)
            raise StepFault(refused.reason, refused.code)
        if isinstance(runs, CompositeRuns):
            return await run_composite(frame, call, runs, self.nested)
        self._wants_post(frame, call, runs)
        return await run_program(frame, call, runs, runs.main)

    async def _pre(self, frame: Frame, call: Call) -> Outcome:
        runs = call.action.runs
        if isinstance(runs, NodeRuns):
            self._wants_post(frame, call, runs)
            return await run_program(frame, call, runs, runs.pre)
        inner = inner_place(frame, call, say=False)
        outcome: Outcome = "succeeded"
        for child in call.children:
            if child is not None and child.has_pre and not frame.track.leash.stop:
                result = await self.pre(child, inner, frame.track)
                outcome = "failed" if result.conclusion == "failed" else outcome
        return outcome

    def _wants_post(self, frame: Frame, call: Call, runs: NodeRuns) -> None:
        if runs.post and not call.registered:
            call.registered = True
            self._register(frame.track, Post(call, frame.place))


def commit(job: JobState, place: Place, step: Step, result: Result, *, fails_job: bool = True) -> None:
    """Let later steps see how one ended."""
    if result.conclusion == "failed" and fails_job:
        if place.embedded:
            place.failed = True
        else:
            job.failed = True
    if step.id:
        outputs: dict[str, Value] = dict(result.outputs)
        place.steps[step.id] = {
            "outputs": outputs,
            "outcome": _WORDS[result.outcome],
            "conclusion": _WORDS[result.conclusion],
        }
