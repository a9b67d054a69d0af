"""What the pages about workflows show: the list, one workflow with the form that starts it, and one run of it.

The rules of ``views`` hold here too: frozen, complete, no query or clock while a page is drawn.
"""

from typing import Literal

from msgspec import Struct

from ostler.server.pages.run_graph import Graph
from ostler.server.pages.views import Button, Choice, Link, Problem, RunRow, Status, WaterfallRow

Input = Literal["text", "number", "checkbox", "choice"]


class WorkflowRow(Struct, frozen=True, kw_only=True):
    """One workflow in the list. ``status`` is that of its last run, ``fault`` why its file cannot be used."""

    id: str
    name: str
    path: str
    events: tuple[str, ...] = ()
    status: Status | None = None
    last_run: Link | None = None
    last_at: int | None = None
    disabled: bool = False
    fault: str = ""


class RepositoryGroup(Struct, frozen=True, kw_only=True):
    """A repository with its workflows. ``fault`` says why it could not be read the last time."""

    id: str
    name: str
    clone_url: str
    default_branch: str
    synced_at: int | None = None
    fault: str = ""
    workflows: tuple[WorkflowRow, ...] = ()


class WorkflowsView(Struct, frozen=True, kw_only=True):
    """``workflows.html`` and ``fragments/workflows.html``. ``first_command`` connects the first repository."""

    repositories: tuple[RepositoryGroup, ...]
    can_sync: bool = False
    first_command: str = "ostler repository add NAME --clone-url URL"


class DispatchField(Struct, frozen=True, kw_only=True):
    """One input of ``workflow_dispatch``; ``problem`` is what is wrong with what was typed."""

    name: str
    label: str
    kind: Input = "text"
    value: str = ""
    required: bool = False
    choices: tuple[Choice, ...] = ()
    problem: str = ""


class DispatchForm(Struct, frozen=True, kw_only=True):
    """What starts a workflow by hand: where, and with which inputs. ``problem`` concerns the whole."""

    ref: str
    fields: tuple[DispatchField, ...] = ()
    problem: str = ""
    opened: bool = False


class WorkflowView(Struct, frozen=True, kw_only=True):
    """``workflow.html`` and ``fragments/workflow.html``. ``dispatch`` is None where it cannot be started by hand."""

    workflow: WorkflowRow
    repository: str
    facts: tuple[tuple[str, str], ...] = ()
    runs: tuple[RunRow, ...] = ()
    next_href: str = ""
    query: str = ""
    dispatch: DispatchForm | None = None
    buttons: tuple[Button, ...] = ()


class JobRow(Struct, frozen=True, kw_only=True):
    """One job of a run, in the list beside the graph. ``note`` says why it was skipped or could not run."""

    name: str
    href: str
    status: Status
    note: str = ""
    duration_ms: int | None = None
    started_at: int | None = None


class Remark(Struct, frozen=True, kw_only=True):
    """An annotation of a step; ``place`` is a file with its line."""

    status: Status
    message: str
    title: str = ""
    place: str = ""
    job: Link


class StepSummary(Struct, frozen=True, kw_only=True):
    """What a step wrote for people; ``html`` was made of its Markdown and holds no markup of theirs."""

    job: Link
    html: str


class ArtifactRow(Struct, frozen=True, kw_only=True):
    """One artifact of a run."""

    name: str
    size: str
    href: str
    expires_at: int | None = None


class WorkflowRunView(Struct, frozen=True, kw_only=True):
    """``workflow_run.html`` and ``fragments/workflow_run.html``.

    Of ``graph`` and ``waterfall`` the page shows the first that is there; ``hidden_jobs`` is how many more there are
    than are listed. ``attempts`` are there where it was run more than once.
    """

    id: str
    title: str
    number: int
    status: Status
    workflow: Link
    repository: str
    facts: tuple[tuple[str, str], ...] = ()
    created_at: int
    started_at: int | None = None
    duration_ms: int | None = None
    live: bool
    note: str = ""
    failure: Problem | None = None
    attempts: tuple[Choice, ...] = ()
    buttons: tuple[Button, ...] = ()
    graph: Graph | None = None
    waterfall: tuple[WaterfallRow, ...] = ()
    jobs: tuple[JobRow, ...] = ()
    hidden_jobs: int = 0
    remarks: tuple[Remark, ...] = ()
    hidden_remarks: int = 0
    summaries: tuple[StepSummary, ...] = ()
    artifacts: tuple[ArtifactRow, ...] = ()
    command: str = ""
    """What runs the same on the reader's own machine."""
