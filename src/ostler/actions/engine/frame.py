"""One step while it runs: what it sees, what it is given, and what became of it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from ostler.actions.engine.calls import Call
from ostler.actions.engine.conversation import Conversation
from ostler.actions.engine.evaluation import variables
from ostler.actions.engine.file_commands import Files, make_files
from ostler.actions.engine.machine import Command, Ending, Outcome
from ostler.actions.engine.output import Output
from ostler.actions.engine.scope import JobState, Place, View
from ostler.actions.engine.track import Track
from ostler.actions.engine.variables import process_environment
from ostler.expr.values import Value
from ostler.protocol.v1.program import Step


class StepFault(Exception):
    """A step cannot be carried out; it fails with this in its log."""

    code = "step"

    def __init__(self, message: str, code: str = "step") -> None:
        super().__init__(message)
        self.code = code


class Result(NamedTuple):
    """How a step ended."""

    outcome: Outcome
    conclusion: Outcome
    timed_out: bool = False
    ending: Ending | None = None
    outputs: Mapping[str, str] = {}
    fault: str = ""
    """The code of what kept it from being carried out."""
    message: str = ""


class Frame:
    """See the module."""

    def __init__(
        self,
        job: JobState,
        place: Place,
        track: Track,
        step: Step,
        name: str,
        *,
        state: dict[str, str],
        main: bool = True,
    ) -> None:
        self.job = job
        self.place = place
        self.track = track
        self.step = step
        self.key = job.new_key()
        self.files: Files = make_files(job.machine.layout.files, self.key)
        self.github: dict[str, Value] = {
            "action": name,
            "env": self.files.env,
            "output": self.files.output,
            "path": self.files.path,
            "state": self.files.state,
            "step_summary": self.files.summary,
        }
        if place.action is not None:
            self.github |= {
                "action_path": place.action.directory,
                "action_repository": place.action.repository,
                "action_ref": place.action.ref,
                "action_status": "failure" if place.failed else job.status if job.cancelled else "success",
            }
        self.own_env: dict[str, str] = {}
        self.env: dict[str, str] = {**track.environment.values, **place.env}
        self.view = View(job, place, self.env, self.github, main=main)
        self.conversation = Conversation(job, track, self.env, state)
        self.ending: Ending | None = None
        self.trouble: tuple[str, str] = ("", "")
        """What kept a step inside of it from being carried out: a code and a message."""

    def evaluate_env(self) -> None:
        """Add the step's own variables, which do not see each other."""
        if self.step.env:
            self.own_env = variables("env", self.step.env, self.view.scope())
            self.env.update(self.own_env)

    def environment(
        self, given: Mapping[str, str] | None = None, github: Mapping[str, Value] | None = None
    ) -> dict[str, str]:
        """Return the environment of a program of this step."""
        return process_environment(
            self.job, self.track.environment, self.env, {**self.github, **(github or {})}, self.files, given
        )

    async def run(self, argv: tuple[str, ...], environment: Mapping[str, str], directory: str) -> Outcome:
        """Run a program of this step to its end."""
        output = Output(self.conversation, whole_lines=self.track.background or self.job.beside > 0)
        ending = await self.job.machine.run(Command(argv, environment, directory), output, self.track.leash)
        self.ending = ending
        if self.track.leash.stop:
            return "cancelled"
        if ending.fault:
            self.conversation.error(ending.fault)
        return "succeeded" if ending.code == 0 else "failed"

    def finish(self) -> None:
        """Take what the step wrote into its files."""
        self.conversation.take_files(self.files)


RunStep = Callable[[Step, Place, Track, "Call | None"], Awaitable[Result]]
"""Runs a step of a composite action: the step, where it stands, on which track, and what it uses if that is loaded."""
