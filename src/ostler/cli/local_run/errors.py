"""What keeps a workflow from running on this machine, each with what to do about it."""

from typing import ClassVar

from ostler.cli.errors import FAILED, USAGE, CommandFailed


class _NotRun(CommandFailed):
    """Nothing was run."""

    exits: ClassVar[int] = FAILED

    def __init__(self, cause: str, *, fix: str = "") -> None:
        super().__init__(cause, fix=fix, exit_code=self.exits, code=self.code)


class WorkflowMissing(_NotRun):
    """There is no workflow to run where one was looked for."""

    code = "workflow_missing"
    exits = USAGE


class NotStarted(_NotRun):
    """The event starts none of the workflows: its name, type, branch or files do not pass their filters."""

    code = "not_started"


class EventUnusable(_NotRun):
    """The event is none of the language, or the file of --event-path holds no payload."""

    code = "event_unusable"
    exits = USAGE


class NotPossibleHere(_NotRun):
    """This machine cannot run it as it was asked for, such as in a sandbox or in containers."""

    code = "not_possible_here"


class NothingChosen(_NotRun):
    """No job, or no cell of a matrix, is what --job and --matrix ask for."""

    code = "nothing_chosen"
    exits = USAGE


class WorkflowInvalid(_NotRun):
    """The checks found errors in a workflow; ``ostler validate`` shows them too."""

    code = "workflow_invalid"


class PlanRefused(_NotRun):
    """The workflow cannot be planned: an input is missing or wrong, or what it calls cannot be called."""

    code = "plan_refused"
