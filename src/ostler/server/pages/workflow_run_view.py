"""One run of a workflow as its page shows it: graph or waterfall, jobs, annotations, summaries, artifacts."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ostler.domain.job import JobState
from ostler.protocol.v1 import run_messages as told
from ostler.protocol.v1.artifact_messages import ArtifactView
from ostler.protocol.v1.workflow_messages import AttemptOfRun, WorkflowRunView as Facts
from ostler.server.pages import wording
from ostler.server.pages.markdown import to_html
from ostler.server.pages.rendering import duration, plural
from ostler.server.pages.run_graph import MOST_NODES, Graph, lay_out
from ostler.server.pages.run_view import waterfall
from ostler.server.pages.views import Button, Choice, Link, Problem, Status
from ostler.server.pages.workflow_graph import graph_jobs, node_status
from ostler.server.pages.workflow_views import ArtifactRow, JobRow, Remark, StepSummary, WorkflowRunView
from ostler.store.reports import Remark as Remarked, Summary
from ostler.workflow.run.display import Shown
from ostler.workflow.run.state import NodeState

MOST_JOBS: Final = 300
"""So many jobs are listed; the command line lists all."""

MOST_REMARKS: Final = 50

_LEVELS: Final = {
    "error": Status("failed", "Error"),
    "warning": Status("attention", "Warning"),
    "notice": Status("running", "Notice"),
}
_SHORT_SHA = 7


class Pieces(msgspec.Struct, frozen=True, kw_only=True):
    """All that was read of a run for its page. ``nodes`` are as the run knows them; of those with a job, it knows more.

    ``remarks`` may be one more than are shown.
    """

    run: told.RunView
    facts: Facts
    nodes: tuple[Shown, ...]
    remarks: Sequence[Remarked] = ()
    summaries: Sequence[Summary] = ()
    artifacts: Sequence[ArtifactView] = ()


def workflow_run_view(pieces: Pieces, *, now: int, buttons: tuple[Button, ...]) -> WorkflowRunView:
    """Return the view of a run."""
    run, facts = pieces.run, pieces.facts
    jobs = {job.id: job for job in run.jobs}
    of_nodes = {node.id: jobs[node.job_id] for node in facts.nodes if node.job_id in jobs}
    nodes = _with_what_jobs_know(pieces.nodes, {node.id: node.state for node in facts.nodes})
    leaves = [node for node in nodes if node.kind == "job"]
    links = {node: Link(nodes_name, _href(run.id, job.id)) for node, nodes_name, job in _named(leaves, of_nodes)}
    by_job = {of_nodes[node].id: link for node, link in links.items()}
    graph = _graph(nodes, {node: link.href for node, link in links.items()}, of_nodes)
    return WorkflowRunView(
        id=run.id,
        title=run.name,
        number=facts.number,
        status=wording.RUN[run.state],
        workflow=Link(facts.workflow or facts.path, f"/workflows/{facts.workflow_id}"),
        repository=facts.repository,
        facts=_facts(facts),
        created_at=run.created_at,
        started_at=run.started_at,
        duration_ms=_milliseconds(run.started_at, run.finished_at),
        live=run.finished_at is None,
        note=_note(facts),
        failure=_failure(facts, leaves, of_nodes),
        attempts=tuple(_attempt(each, facts) for each in facts.attempts) if len(facts.attempts) > 1 else (),
        buttons=buttons,
        graph=graph,
        waterfall=() if graph or not run.jobs else waterfall(run, run.jobs[:MOST_JOBS], now),
        jobs=tuple(_job(node, links.get(node.id), of_nodes.get(node.id)) for node in leaves[:MOST_JOBS]),
        hidden_jobs=max(0, len(leaves) - MOST_JOBS),
        remarks=tuple(_remark(each, by_job) for each in pieces.remarks[:MOST_REMARKS] if each.job_id in by_job),
        hidden_remarks=max(0, len(pieces.remarks) - MOST_REMARKS),
        summaries=tuple(
            StepSummary(job=by_job[each.job_id], html=to_html(each.markdown))
            for each in pieces.summaries
            if each.job_id in by_job
        ),
        artifacts=tuple(
            ArtifactRow(
                name=each.name,
                size=_size(each.size),
                href=f"/runs/{run.id}/artifacts/{each.id}",
                expires_at=each.expires_at,
            )
            for each in pieces.artifacts
        ),
        command=_command(facts, leaves, of_nodes),
    )


def _with_what_jobs_know(nodes: Sequence[Shown], states: Mapping[str, str]) -> list[Shown]:
    """Return nodes as their jobs have them: that a runner has begun, the run itself is not told."""
    known = frozenset(state.value for state in NodeState)
    truly: list[Shown] = []
    counts: dict[str, dict[str, int]] = {}
    parents = {node.id: node.parent for node in nodes}
    for node in nodes:
        state = states.get(node.id, node.state.value)
        if node.kind == "job" and node.state is not NodeState.ENDED and state in known:
            node = msgspec.structs.replace(node, state=NodeState(state))  # noqa: PLW2901 - the same node, better known
        truly.append(node)
        if node.kind == "job":
            above = node.parent
            while above:
                word = node.conclusion or node.state.value
                below = counts.setdefault(above, {})
                below[word] = below.get(word, 0) + 1
                above = parents[above]
    return [
        msgspec.structs.replace(node, counts=counts[node.id], state=_of_those_below(node, counts[node.id]))
        if node.id in counts
        else node
        for node in truly
    ]


def _of_those_below(node: Shown, counts: Mapping[str, int]) -> NodeState:
    begun = counts.get("running") or counts.get("success") or counts.get("failure")
    return NodeState.RUNNING if node.state is not NodeState.ENDED and begun else node.state


def _named(leaves: Sequence[Shown], of_nodes: Mapping[str, told.JobView]) -> list[tuple[str, str, told.JobView]]:
    return [(node.id, node.name, of_nodes[node.id]) for node in leaves if node.id in of_nodes]


def _href(run_id: str, job_id: str) -> str:
    return f"/runs/{run_id}/jobs/{job_id}"


def _graph(nodes: Sequence[Shown], hrefs: Mapping[str, str], of_nodes: Mapping[str, told.JobView]) -> Graph | None:
    details = {
        node: duration(taken)
        for node, job in of_nodes.items()
        if (taken := _milliseconds(job.started_at, job.finished_at)) is not None
    }
    drawn = graph_jobs(nodes, hrefs, details)
    return lay_out(drawn) if 0 < len(drawn) <= MOST_NODES else None


def _facts(facts: Facts) -> tuple[tuple[str, str], ...]:
    kind, _, name = facts.ref.removeprefix("refs/").partition("/")
    place = {"heads": "Branch", "tags": "Tag", "pull": "Pull request"}.get(kind, "Reference")
    shown = name.removesuffix("/merge") if kind == "pull" else name
    pairs = [("Event", facts.event), (place, shown or facts.ref), ("Commit", facts.sha[:_SHORT_SHA])]
    if facts.actor:
        pairs.append(("By", facts.actor))
    if facts.approved_by:
        pairs.append(("Approved by", facts.approved_by))
    return tuple(pair for pair in pairs if pair[1])


def _note(facts: Facts) -> str:
    if facts.phase == "held":
        return "It comes from a fork and waits for somebody to approve this commit; it gets no secrets"
    if facts.phase == "pending" and not facts.note:
        return "It waits for another run of its concurrency group"
    return facts.note


def _failure(facts: Facts, leaves: Sequence[Shown], of_nodes: Mapping[str, told.JobView]) -> Problem | None:
    failed = [node for node in leaves if node.failed and node.conclusion == "failure"]
    if facts.conclusion != "failure" or not failed:
        return None
    first = failed[0]
    job = of_nodes.get(first.id)
    why = wording.short_failure(job.failure) if job is not None and job.failure else first.note
    others = f", and {plural(len(failed) - 1, 'other job')} failed" if len(failed) > 1 else ""
    return Problem("A job failed.", f"job {first.name}: {why or 'it failed'}{others}", "", "step_failed")


def _attempt(each: AttemptOfRun, facts: Facts) -> Choice:
    return Choice(f"/runs/{each.run_id}", f"Attempt {each.attempt}", chosen=each.attempt == facts.attempt)


def _job(node: Shown, link: Link | None, job: told.JobView | None) -> JobRow:
    running = job is not None and job.state in (JobState.RUNNING, JobState.CANCELLING)
    return JobRow(
        name=node.name,
        href=link.href if link else "",
        status=node_status(node),
        note=node.note,
        duration_ms=_milliseconds(job.started_at, job.finished_at) if job else None,
        started_at=job.started_at if job and running else None,
    )


def _remark(each: Remarked, jobs: Mapping[str, Link]) -> Remark:
    said = each.annotation
    line = f":{said.line}" if said.line else ""
    return Remark(
        status=_LEVELS[said.level],
        message=said.message,
        title=said.title,
        place=f"{said.file}{line}" if said.file else "",
        job=jobs[each.job_id],
    )


def _command(facts: Facts, leaves: Sequence[Shown], of_nodes: Mapping[str, told.JobView]) -> str:
    wanted = next((node for node in leaves if node.conclusion == "failure" and node.id in of_nodes), None)
    wanted = wanted or next((node for node in leaves if node.id in of_nodes), None)
    return f"ostler repro {of_nodes[wanted.id].id}" if wanted is not None else ""


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("the last unit takes every size")


def _milliseconds(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else max(0, end - start) // 1000
