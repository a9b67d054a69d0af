"""The messages about workflows and their runs, for people's clients."""

from typing import Annotated, Literal

import msgspec

from ostler.protocol.v1.program import Raw, Scalar

Text = Annotated[str, msgspec.Meta(max_length=250)]


class InputView(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One input of ``workflow_dispatch``, as a form needs it."""

    name: str
    type: str = "string"
    required: bool = False
    default: Scalar = None
    description: str = ""
    options: list[str] = []


class ScheduleView(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a workflow runs by itself."""

    cron: str
    timezone: str
    next_at: int | None = None
    last_at: int | None = None


class WorkflowView(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A workflow; ``present`` says whether the default branch has its file, ``fault`` why it cannot run."""

    id: str
    name: str
    path: str
    events: list[str] = []
    inputs: list[InputView] = []
    schedules: list[ScheduleView] = []
    dispatchable: bool = False
    present: bool = True
    disabled: bool = False
    fault: str = ""
    runs: int = 0


class WorkflowsReply(msgspec.Struct, frozen=True):
    """The workflows of a repository by path."""

    workflows: list[WorkflowView]


class UpdateWorkflowRequest(msgspec.Struct, frozen=True):
    """Whether the workflow may run."""

    disabled: bool


class DispatchRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run by hand. Without a reference that of the default branch; inputs as texts or with their types."""

    ref: Text = ""
    inputs: Annotated[dict[str, Raw], msgspec.Meta(max_length=25)] = {}


class RepositoryDispatchRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event of your own."""

    event_type: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    client_payload: Annotated[dict[str, Raw], msgspec.Meta(max_length=100)] = {}


class DispatchReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The runs that were started, and what else is to be said."""

    run_ids: list[str]
    outcome: str = ""


class NodeView(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One node of a run: a job, a matrix or a call of a reusable workflow."""

    id: str
    name: str
    kind: Literal["job", "matrix", "call"] = "job"
    state: str
    conclusion: str = ""
    note: str = ""
    parent: str = ""
    needs: list[str] = []
    matrix: dict[str, Raw] | None = None
    job_id: str = ""


class AttemptOfRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt of a run; each is a run of its own."""

    attempt: int
    run_id: str
    conclusion: str = ""


class WorkflowRunView(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a run is as a run of a workflow."""

    run_id: str
    repository: str
    workflow_id: str
    workflow: str
    path: str
    number: int
    attempt: int
    attempts: list[AttemptOfRun]
    event: str
    ref: str
    sha: str
    actor: str
    trusted: bool
    phase: str
    conclusion: str = ""
    note: str = ""
    approved_by: str = ""
    nodes: list[NodeView]
    created_at: int
    ended_at: int | None = None


class RerunRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What to run again: everything, what failed with what needs it, or one job with what needs it."""

    which: Literal["all", "failed", "job"] = "all"
    job: Text = ""
    debug: bool = False


class ReproReply(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a job needs to be run elsewhere as it was run here."""

    clone_url: str
    sha: str
    ref: str
    path: str
    job: str
    event: str
    payload: dict[str, Raw]
    inputs: dict[str, Raw] = {}
    matrix: dict[str, Raw] | None = None
    variables: dict[str, str] = {}
    secret_names: list[str] = []
