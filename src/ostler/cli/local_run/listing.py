"""``--list`` and ``--dry-run``: the jobs of a workflow, and what of them would run, without running anything.

A dry run plays the run with jobs that succeed at once and set no outputs. What depends on outputs cannot be told
before; such a job is shown with the reason why it would not start.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

from ostler.cli import output
from ostler.cli.local_run.selection import Chosen
from ostler.protocol.v1.program import Step
from ostler.workflow.run.effects import Effect, JoinGroup, RunEnded, StartedJob, StartJob
from ostler.workflow.run.happenings import GroupGranted, JobEnded, JobStarted
from ostler.workflow.run.plan import Plan
from ostler.workflow.run.reducer import Reducer, begin
from ostler.workflow.run.state import Node

Planned = tuple[Chosen, Plan]
_WIDEST: Final = 60


class ListedJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One job, or one cell of a matrix."""

    workflow: str
    id: str
    name: str
    needs: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    matrix: dict[str, object] | None = None
    condition: str = ""
    runs: bool = True
    note: str = ""
    steps: tuple[str, ...] = ()


def print_list(plans: Sequence[Planned], *, as_json: bool) -> None:
    """Print the jobs with their cells and needs."""
    jobs = [job for planned in plans for job in _played(planned)]
    if as_json:
        output.print_json(jobs)
        return
    rows = [(job.workflow, job.id, job.name, ", ".join(job.needs) or "-", ", ".join(job.labels) or "-") for job in jobs]
    output.print_table(("WORKFLOW", "JOB", "NAME", "NEEDS", "LABELS"), rows, empty="no jobs")


def print_dry_run(plans: Sequence[Planned], *, as_json: bool) -> None:
    """Print what would run: names, labels and conditions evaluated, steps as they are written."""
    if as_json:
        output.print_json([job for planned in plans for job in _played(planned)])
        return
    for planned in plans:
        chosen, plan = planned
        output.print_line(f"{plan.name} ({chosen.workflow.path}) on {chosen.event} of {plan.given.github['ref']}")
        for job in _played(planned):
            labels = f" on {', '.join(job.labels)}" if job.labels else ""
            condition = f" if {output.shown(job.condition, _WIDEST)}" if job.condition else ""
            output.print_line(f"  {'run ' if job.runs else 'skip'} {job.name}{labels}{condition}")
            if job.note:
                output.print_line(f"         {output.shown(job.note)}")
            for step in job.steps:
                output.print_line(f"         {output.shown(step, 100)}")


def _played(planned: Planned) -> list[ListedJob]:
    """Play a run in which every job succeeds, and return its jobs in the order of the file."""
    chosen, plan = planned
    state, effects = begin(plan)
    reducer = Reducer(plan, state)
    started: dict[str, StartedJob] = {}
    queue: deque[Effect] = deque(effects)
    while queue:
        effect = queue.popleft()
        if isinstance(effect, StartJob):
            started[effect.node] = effect.job
            queue.extend(reducer.apply(JobStarted(effect.node)))
            queue.extend(reducer.apply(JobEnded(effect.node, "success")))
        elif isinstance(effect, JoinGroup):
            queue.extend(reducer.apply(GroupGranted(effect.holder)))
        elif isinstance(effect, RunEnded):
            break
    nodes = reducer.state().nodes
    childless = [node for node in nodes.values() if node.kind == "job" or not reducer.book.children.get(node.id)]
    return [_listed(chosen, node, started.get(node.id)) for node in childless]


def _listed(chosen: Chosen, node: Node, job: StartedJob | None) -> ListedJob:
    written = chosen.workflow.job(node.id.partition("[")[0].partition("/")[0])
    return ListedJob(
        workflow=chosen.workflow.path,
        id=node.id,
        name=node.name,
        needs=written.needs if written else (),
        labels=job.labels if job else (),
        matrix=node.matrix,
        condition=written.if_ if written else "",
        runs=job is not None,
        note=node.note,
        steps=tuple(_step(step) for step in job.program.steps) if job else (),
    )


def _step(step: Step) -> str:
    condition = f" if {step.if_}" if step.if_ else ""
    if step.name:
        return step.name + condition
    if step.uses is not None:
        return step.uses + condition
    if step.run is not None:
        return step.run.strip().partition("\n")[0] + condition
    if step.parallel is not None:
        return f"{len(step.parallel)} steps in parallel"
    return f"wait for {', '.join(step.wait or ()) or 'all'}" if step.cancel is None else f"cancel {step.cancel}"
