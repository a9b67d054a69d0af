"""The order of everything in a job: set up, pre steps, the steps of the file, post steps, the end.

People see a list of steps; this is where each gets its number and its reports. What a step does is none of it.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from ostler.actions.engine.background import Background, Backgrounds
from ostler.actions.engine.calls import Call, Calls, Finder, Post
from ostler.actions.engine.conversation import Conversation
from ostler.actions.engine.environment import JobEnvironment
from ostler.actions.engine.evaluation import BadTemplate, flag, text
from ostler.actions.engine.frame import Frame, Result
from ostler.actions.engine.machine import Ending, Outcome, StepEnd, StepNews
from ostler.actions.engine.scope import JobState, Place, View
from ostler.actions.engine.setup import job_outputs, set_up
from ostler.actions.engine.step import Started, Steps, commit
from ostler.actions.engine.track import Owner, Track
from ostler.domain.machine import Refused
from ostler.expr.evaluation import Scope
from ostler.protocol.v1.program import Step

_LONGEST_NAME: Final = 200

Work = Callable[[Started], Awaitable[Result]]


class FirstFailure(NamedTuple):
    """What made the job fail."""

    name: str
    ending: Ending | None
    fault: str
    message: str


class JobEnd(NamedTuple):
    """How the job ended, as far as its steps decide that."""

    status: Literal["success", "failure", "cancelled"]
    outputs: dict[str, str]
    environment_url: str
    failure: FirstFailure | None


class Job:
    """See the module. The driver runs ``run`` as a task, and may ``cancel`` and ``halt`` at any time."""

    def __init__(self, state: JobState, finder: Finder) -> None:
        self._state = state
        self._place = Place(state.program.inputs)  # pyright: ignore[reportArgumentType] - JSON, as the wire has it
        self._calls = Calls(finder, state.machine.layout.workspace, state.step_name, self._note)
        self._steps = Steps(state, self._calls, self._register)
        self._backgrounds = Backgrounds(state, self._place)
        self._active: list[Track] = []
        self._numbers = 0
        self._setup: Conversation | None = None
        self._owners: dict[int, Owner] = {}
        """By the call; its pre step and its main step share one."""
        self._posts: list[Owner] = []
        """Those that have posts, in the order in which they got their first."""
        self._failure: FirstFailure | None = None

    @property
    def halted(self) -> bool:
        return self._state.halted

    @property
    def last_number(self) -> int:
        """The last step that was shown."""
        return max(0, self._numbers - 1)

    async def run(self) -> JobEnd:
        """Run the whole job."""
        state = self._state
        loaded = self._set_up()
        if loaded is not None:
            await self._run_pres(loaded)
        for index, step in enumerate(state.program.steps):
            await self._run_item(index, step, loaded)
        await self._backgrounds_end()
        await self._run_posts()
        outputs, url = self._complete()
        return JobEnd(
            "cancelled" if state.cancelled else "failure" if state.failed else "success", outputs, url, self._failure
        )

    def cancel(self) -> None:
        """Begin to end: what runs is stopped unless its condition still holds; what comes later decides for itself."""
        if self._state.cancelled:
            return
        self._state.cancelled = True
        for track in list(self._active):
            if track.background or not _still_wanted(track):
                self._state.machine.stop(track.leash, "cancelled")

    def halt(self) -> None:
        """Run nothing more at all."""
        self._state.cancelled = self._state.halted = True

    # Before.

    def _set_up(self) -> dict[int, Call] | None:
        news = StepNews(number=self._next(), name="Set up job")
        track, talk = self._opened(news)
        self._setup = talk
        prepared = set_up(self._state, self._place, self._calls, talk)
        self._setup = None
        if isinstance(prepared, Refused):
            talk.error(prepared.reason)
            self._failed(news.name, Result("failed", "failed", fault=prepared.code, message=prepared.reason))
            self._state.failed = self._state.halted = True
            self._closed(news, track, Result("failed", "failed"))
            return None
        self._closed(news, track, Result("succeeded", "succeeded"))
        return dict(prepared.calls)

    async def _run_pres(self, calls: dict[int, Call]) -> None:
        for step in [inner for one in self._state.program.steps for inner in (one.parallel or [one])]:
            call = calls.get(id(step))
            if call is not None and call.has_pre:
                news = StepNews(number=self._next(), name=f"Pre {default_name(step)}"[:_LONGEST_NAME])
                track = self._track(news.number, self._state.environment, self._owner(call, step))
                result = await self._followed(news, track, self._pre_of(call, track))
                if result.conclusion == "failed":
                    self._state.failed = True
                    self._failed(news.name, result)

    # The steps of the file.

    async def _run_item(self, index: int, step: Step, calls: dict[int, Call] | None) -> None:
        if calls is None or self._state.halted:
            for inner in step.parallel or [step]:
                news = StepNews(number=self._next(), name=default_name(inner), program_step=index, step_id=inner.id)
                self._state.machine.step_finished(news, StepEnd(conclusion="skipped", outcome="skipped"))
            return
        if step.parallel is not None:
            group = [self._begin(index, inner, calls.get(id(inner))) for inner in step.parallel]
            if await self._backgrounds.wait(group) == "failed":
                self._state.failed = True
        elif step.wait is not None or step.wait_all or step.cancel is not None:
            await self._control(index, step)
        elif self._in_background(step):
            self._begin(index, step, calls.get(id(step)))
        else:
            await self._run_main(index, step, calls.get(id(step)))

    async def _run_main(self, index: int, step: Step, call: Call | None) -> None:
        news = StepNews(number=self._next(), name=default_name(step), program_step=index, step_id=step.id)
        track = self._track(news.number, self._state.environment, self._owner(call, step))
        result = await self._followed(news, track, self._main_of(step, track, call))
        commit(self._state, self._place, step, result)
        self._failed(news.name, result)

    def _begin(self, index: int, step: Step, call: Call | None) -> Background:
        news = StepNews(
            number=self._next(), name=default_name(step), program_step=index, step_id=step.id, background=True
        )
        track = self._track(news.number, self._state.environment.fork(), self._owner(call, step), background=True)
        one = Background(step, track, news.name)

        async def work() -> Result:
            result = await self._followed(news, track, self._main_of(step, track, call))
            self._failed(news.name, result)
            return result

        self._backgrounds.start(one, work())
        return one

    async def _control(self, index: int, step: Step) -> None:
        """Wait for steps in the background, or stop one."""
        news = StepNews(number=self._next(), name=default_name(step), program_step=index, step_id=step.id)
        track, talk = self._opened(news)
        self._active.append(track)
        outcome: Outcome = "succeeded"
        chosen = (
            self._backgrounds.untaken if step.wait_all else self._backgrounds.named(step.wait or [step.cancel or ""])
        )
        names = ", ".join(one.name for one in chosen) or "none"
        if step.cancel is not None:
            talk.say(f"Cancelling: {names}")
            await self._backgrounds.cancel(chosen)
        else:
            talk.say(f"Waiting for: {names}")
            outcome = await self._backgrounds.wait(chosen)
            if outcome == "failed":
                talk.error("A step in the background failed.")
        self._active.remove(track)
        conclusion: Outcome = outcome
        try:
            if outcome == "failed" and flag("continue-on-error", step.continue_on_error, self._scope()):
                conclusion = "succeeded"
        except BadTemplate as reason:
            talk.error(str(reason))
        result = Result(outcome, conclusion)
        self._closed(news, track, result)
        commit(self._state, self._place, step, result)

    async def _backgrounds_end(self) -> None:
        """Wait for whatever nobody waited for."""
        if await self._backgrounds.wait(self._backgrounds.untaken) == "failed":
            self._state.failed = True

    # After.

    async def _run_posts(self) -> None:
        while self._posts and not self._state.halted:
            owner = self._posts.pop()
            news = StepNews(number=self._next(), name=f"Post {owner.name}"[:_LONGEST_NAME])
            track = self._track(news.number, self._state.environment)
            result = await self._followed(news, track, self._posts_of(owner, track))
            if result.conclusion == "failed":
                self._state.failed = True
                self._failed(news.name, result)

    async def _each_post(self, posts: Sequence[Post], track: Track, started: Started) -> Result:
        """Run the posts of one step, the last registered first; one that fails does not stop the others."""
        total: Result | None = None
        begun = False

        def once(frame: Frame) -> None:
            nonlocal begun
            if not begun:
                begun = True
                started(frame)

        for post in reversed(posts):
            result = await self._steps.post(post, track, once)
            if total is None or total.outcome == "skipped" or (result.outcome in ("failed", "cancelled")):
                total = result
        return total or Result("skipped", "skipped")

    def _complete(self) -> tuple[dict[str, str], str]:
        news = StepNews(number=self._next(), name="Complete job")
        track, talk = self._opened(news)
        before = self._state.failed
        outputs, url = ({}, "") if self._state.halted else job_outputs(self._state, self._place, talk)
        outcome: Outcome = "failed" if self._state.failed and not before else "succeeded"
        result = Result(outcome, outcome, message="an output of the job cannot be evaluated")
        self._failed(news.name, result)
        self._closed(news, track, result)
        return outputs, url

    # Reports.

    async def _followed(self, news: StepNews, track: Track, work: Work) -> Result:
        """Do a step's work and report its beginning and end."""
        machine = self._state.machine
        shown = news

        def started(frame: Frame) -> None:
            nonlocal shown
            shown = msgspec.structs.replace(news, name=_name(news, frame, machine.masked))
            if track.owner is not None and news.program_step >= 0:
                track.owner.name = shown.name
            machine.step_started(shown)

        self._active.append(track)
        try:
            result = await work(started)
        finally:
            self._active.remove(track)
        self._closed(shown, track, result)
        return result

    def _pre_of(self, call: Call, track: Track) -> Work:
        return lambda started: self._steps.pre(call, self._place, track, started)

    def _main_of(self, step: Step, track: Track, call: Call | None) -> Work:
        return lambda started: self._steps.run(step, self._place, track, call, started)

    def _posts_of(self, owner: Owner, track: Track) -> Work:
        return lambda started: self._each_post(owner.posts, track, started)

    def _owner(self, call: Call | None, step: Step) -> Owner:
        owner = self._owners.get(id(call)) if call is not None else None
        if owner is None:
            owner = Owner(default_name(step))
            if call is not None:
                self._owners[id(call)] = owner
        return owner

    def _register(self, track: Track, post: Post) -> None:
        if track.owner is not None:
            if not track.owner.posts:
                self._posts.append(track.owner)
            track.owner.posts.append(post)

    def _track(
        self, number: int, environment: JobEnvironment, owner: Owner | None = None, *, background: bool = False
    ) -> Track:
        return Track(number, environment, owner, background=background)

    def _next(self) -> int:
        number = self._numbers
        self._numbers += 1
        return number

    def _scope(self) -> Scope:
        return View(self._state, self._place, self._state.environment.values, {}).scope()

    def _in_background(self, step: Step) -> bool:
        try:
            return flag("background", step.background, self._scope())
        except BadTemplate:
            return False

    def _opened(self, news: StepNews) -> tuple[Track, Conversation]:
        track = self._track(news.number, self._state.environment)
        self._state.machine.step_started(news)
        return track, Conversation(self._state, track, self._state.environment.values, {})

    def _closed(self, news: StepNews, track: Track, result: Result) -> None:
        machine, remarks = self._state.machine, track.remarks
        machine.step_finished(
            news,
            StepEnd(
                conclusion="timed_out" if result.timed_out and result.conclusion == "failed" else result.conclusion,
                outcome="timed_out" if result.timed_out else result.outcome,
                ending=result.ending,
                annotations=remarks.annotations(machine.masked),
                annotations_left_out=remarks.left_out,
                summary=remarks.summary(machine.masked),
            ),
        )

    def _failed(self, name: str, result: Result) -> None:
        if result.conclusion == "failed" and self._failure is None:
            self._failure = FirstFailure(name, result.ending, result.fault, result.message)

    def _note(self, line: str) -> None:
        if self._setup is not None:
            self._setup.say(line)


def default_name(step: Step) -> str:
    """Return how a step is called before its name can be evaluated."""
    return whole_name(step)[:_LONGEST_NAME]


def whole_name(step: Step) -> str:
    """Return the name of a step as it is written, or one made of what it runs."""
    if step.name:
        return step.name
    if step.run is not None:
        first = next((line.strip() for line in step.run.splitlines() if line.strip()), "")
        return f"Run {first}"
    if step.uses is not None:
        return f"Run {step.uses}"
    if step.cancel is not None:
        return f"Cancel {step.cancel}"
    return "Wait for all steps in the background" if step.wait_all else f"Wait for {', '.join(step.wait or [])}"


def _name(news: StepNews, frame: Frame, masked: Callable[[str], str]) -> str:
    if news.program_step < 0 or "${{" not in news.name:
        return masked(news.name)
    try:
        whole = text("name", whole_name(frame.step), frame.view.plain()).lstrip()
    except BadTemplate:
        return masked(news.name)
    # A value may have several lines, and a name has one. All of it is masked first: secrets may have several lines too.
    return next(iter(masked(whole).splitlines()), "")[:_LONGEST_NAME] or news.name


def _still_wanted(track: Track) -> bool:
    try:
        return bool(track.conditions) and all(wanted() for wanted in track.conditions)
    except BadTemplate:
        return False
