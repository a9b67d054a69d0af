"""Views of workflows with believable content, beside those of ``sample_views``."""

from ostler.server.pages.markdown import to_html
from ostler.server.pages.run_graph import GraphJob, lay_out
from ostler.server.pages.views import Button, Choice, Link, Problem, Status
from ostler.server.pages.workflow_views import (
    ArtifactRow,
    DispatchField,
    DispatchForm,
    JobRow,
    Remark,
    RepositoryGroup,
    StepSummary,
    WorkflowRow,
    WorkflowRunView,
    WorkflowsView,
    WorkflowView,
)
from tests.browser.sample_views import FAILED, LONGEST, MINUTE, NOW, OK, QUEUED, RUNNING, RUNS, SKIPPED

WORKFLOW = WorkflowRow(
    id="wf_1",
    name="CI",
    path=".github/workflows/ci.yml",
    events=("push", "pull_request", "workflow_dispatch"),
    status=FAILED,
    last_run=Link("#41", "/runs/run_41"),
    last_at=NOW - MINUTE,
)
WORKFLOWS = WorkflowsView(
    repositories=(
        RepositoryGroup(
            id="rep_1",
            name="shop/checkout",
            clone_url="https://git.example.org/shop/checkout",
            default_branch="main",
            synced_at=NOW,
            workflows=(
                WORKFLOW,
                WorkflowRow(id="wf_2", name="Nightly", path=".github/workflows/nightly.yml", events=("schedule",)),
                WorkflowRow(
                    id="wf_3",
                    name=LONGEST,
                    path=f".github/workflows/{LONGEST}.yml",
                    fault="ci.yml:3:5: `runs-om` is not known; did you mean `runs-on`?",
                ),
            ),
        ),
        RepositoryGroup(
            id="rep_2",
            name=LONGEST,
            clone_url=f"https://git.example.org/{LONGEST}",
            default_branch="main",
            fault="the server git.example.org does not answer",
        ),
        RepositoryGroup(id="rep_3", name="shop/empty", clone_url="https://git.example.org/e", default_branch="main"),
    ),
    can_sync=True,
)
NO_WORKFLOWS = WorkflowsView(repositories=())
WORKFLOW_VIEW = WorkflowView(
    workflow=WORKFLOW,
    repository="shop/checkout",
    facts=(("Id", "wf_1"), ("Next run", "2026-11-20 03:00 UTC")),
    runs=RUNS.rows[:5],
    dispatch=DispatchForm(
        ref="main",
        opened=True,
        fields=(
            DispatchField(name="version", label="The version to build", required=True, problem="A value is required."),
            DispatchField(name="count", label="How many", kind="number", value="3"),
            DispatchField(name="dry", label="Only try", kind="checkbox", value="true"),
            DispatchField(
                name="level",
                label="How much to log",
                kind="choice",
                choices=(Choice("info", "info", chosen=True), Choice("debug", "debug")),
            ),
        ),
    ),
    buttons=(Button(text="Disable", action="/workflows/wf_1/disable", danger=True),),
)


def _graph_job(name: str, status: Status, *needs: str, detail: str = "", folded: int = 0) -> GraphJob:
    return GraphJob(name, name, status, needs, f"/runs/run_41/jobs/job_{name}", detail, folded)


GRAPH = lay_out(
    [
        _graph_job("lint", OK, detail="5.4s"),
        _graph_job("build", OK, detail="1m 12s"),
        _graph_job("test", FAILED, "build", detail="24 jobs: 1 failed", folded=24),
        _graph_job("package", SKIPPED, "test", "lint"),
        _graph_job("deploy / " + LONGEST, QUEUED, "package"),
        _graph_job("notify", RUNNING, "build"),
    ]
)
_BUILD_JOB = Link("build", "/runs/run_41/jobs/job_build")
WORKFLOW_RUN = WorkflowRunView(
    id="run_41",
    title="Round refunds in the payment's own currency",
    number=41,
    status=FAILED,
    workflow=Link("CI", "/workflows/wf_1"),
    repository="shop/checkout",
    facts=(("Event", "push"), ("Branch", "main"), ("Commit", "4f2c1e0"), ("By", "ana")),
    created_at=NOW - MINUTE,
    started_at=NOW - MINUTE,
    duration_ms=72_400,
    live=False,
    attempts=(Choice("/runs/run_40", "Attempt 1"), Choice("/runs/run_41", "Attempt 2", chosen=True)),
    buttons=(
        Button(text="Run failed jobs again", action="/runs/run_41/rerun-failed", main=True),
        Button(text="Run all again", action="/runs/run_41/rerun"),
    ),
    failure=Problem("A job failed.", "Test (3.11) failed: its step Test exited with 1.", "", "step_failed"),
    graph=GRAPH,
    jobs=(
        JobRow(name="lint", href="/runs/run_41/jobs/job_lint", status=OK, duration_ms=5_400),
        JobRow(name="build", href="/runs/run_41/jobs/job_build", status=OK, duration_ms=72_000),
        JobRow(name="package", href="", status=SKIPPED, note="Test failed, which it needs."),
    ),
    remarks=(
        Remark(status=FAILED, title="Type", message="x is not y", place="src/a.py:12", job=_BUILD_JOB),
        Remark(status=Status("attention", "Warning"), message=LONGEST * 4, job=_BUILD_JOB),
    ),
    summaries=(
        StepSummary(
            job=_BUILD_JOB, html=to_html("## Coverage\n\n| File | % |\n| --- | ---: |\n| a.py | 93 |\n\n`ok` **yes**")
        ),
    ),
    artifacts=(ArtifactRow(name="wheel", size="1.2 MiB", href="/runs/run_41/artifacts/wheel"),),
    command="ostler repro job_01k9",
)
