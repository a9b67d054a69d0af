"""One run as its page shows it: facts, failure, waterfall, steps."""

from collections.abc import Sequence
from typing import Final

from ostler.domain.job import JobState
from ostler.domain.step import StepState
from ostler.protocol.v1 import run_messages as told
from ostler.server.pages import wording
from ostler.server.pages.rendering import duration
from ostler.server.pages.views import JobView, Link, Phase, RunView, StepView, WaterfallBar, WaterfallRow

MOST_STEPS: Final = 6
"""So many steps have a row in the waterfall: the slowest, in their order. The list beside the log has all."""

MOST_JOBS: Final = 100
"""So many jobs of a run are listed beside one of them."""

_WHOLE = 1000
_ENDED = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})


def run_view(
    run: told.RunView,
    job: told.JobView,
    *,
    now: int,
    isolation: str,
    can_cancel: bool,
    can_rerun: bool,
    note: str,
) -> RunView:
    """Return the view of a run that shows one of its jobs."""
    shown = _job(run, job, isolation)
    return RunView(
        id=run.id,
        title=run.name,
        status=wording.RUN[run.state],
        facts=_facts(run, job),
        created_at=run.created_at,
        started_at=run.started_at,
        duration_ms=_milliseconds(run.started_at, run.finished_at),
        live=run.finished_at is None,
        can_cancel=can_cancel,
        can_rerun=can_rerun,
        note=note,
        failure=wording.failure_problem(job.failure, job.steps) if job.failure else None,
        waterfall=waterfall(run, _near(run.jobs, job), now, job),
        back=Link("All jobs of the run", f"/runs/{run.id}") if run.of_workflow else None,
        again=f"/runs/{run.id}/jobs/{job.id}/rerun" if run.of_workflow and run.finished_at is not None else "",
        command=f"ostler repro {job.id}" if run.of_workflow else "",
        job=shown,
    )


def _facts(run: told.RunView, job: told.JobView) -> tuple[tuple[str, str], ...]:
    facts = [("By", run.submitted_by)] if run.submitted_by else []
    if job.kind.value != "ci":
        facts.append(("Kind", job.kind.value.replace("_", " ")))
    if job.labels:
        facts.append(("Labels", ", ".join(job.labels)))
    if job.priority:
        facts.append(("Priority", str(job.priority)))
    if job.exit_code is not None:
        facts.append(("Exit code", str(job.exit_code)))
    return tuple(facts)


def _job(run: told.RunView, job: told.JobView, isolation: str) -> JobView:
    attempt = job.attempts[-1] if job.attempts else None
    waiting = job.waiting
    return JobView(
        id=job.id,
        name=job.name,
        status=wording.JOB[job.state],
        attempt=job.fence if attempt else 0,
        isolation=isolation,
        pool=Link(job.pool_name, f"/pools/{job.pool_id}"),
        runner=Link(attempt.runner_name, f"/runners/{attempt.runner_id}") if attempt else None,
        why=waiting.sentence if waiting else "",
        fix=waiting.would_start if waiting else "",
        started_at=job.started_at,
        live=job.state not in _ENDED,
        steps=tuple(_steps(job)),
    )


def _near(jobs: Sequence[told.JobView], shown: told.JobView) -> Sequence[told.JobView]:
    """Return all jobs of a run, or of very many those around the one that is shown."""
    at = next((place for place, job in enumerate(jobs) if job.id == shown.id), 0)
    first = max(0, min(at - MOST_JOBS // 2, len(jobs) - MOST_JOBS))
    return jobs[first : first + MOST_JOBS]


def _steps(job: told.JobView) -> list[StepView]:
    shown: list[StepView] = []
    next_line = 1
    for step in job.steps:
        first = step.first_line
        if first is None and step.state is StepState.RUNNING and job.log_lines >= next_line:
            first = next_line  # its report names the line only when it has ended
        next_line = (step.last_line or next_line - 1) + 1
        shown.append(
            StepView(
                index=step.index,
                name=step.name,
                status=wording.STEP[step.state],
                first_line=first,
                started_at=step.started_at if step.finished_at is None else None,
                duration_ms=_milliseconds(step.started_at, step.finished_at),
            )
        )
    return shown


class _Scale:
    """From times to thousandths of a run's whole time."""

    def __init__(self, start: int, end: int) -> None:
        self._start = start
        self._length = max(1, end - start)

    def bar(self, phase: Phase, start: int, end: int) -> WaterfallBar:
        first = (start - self._start) * _WHOLE // self._length
        last = (end - self._start) * _WHOLE // self._length
        first = min(max(first, 0), _WHOLE - 3)
        label = f"{phase.capitalize()} {duration(max(0, end - start) // 1000)}"
        return WaterfallBar(phase, first, max(3, min(last, _WHOLE) - first), label)


def waterfall(
    run: told.RunView, jobs: Sequence[told.JobView], now: int, shown: told.JobView | None = None
) -> tuple[WaterfallRow, ...]:
    """Return the rows of these jobs, and below the one that is shown those of its steps."""
    scale = _Scale(run.created_at, run.finished_at or now)
    rows: list[WaterfallRow] = []
    for job in jobs:
        current = shown is not None and job.id == shown.id
        rows.append(
            WaterfallRow(
                name=job.name,
                href=f"/runs/{run.id}/jobs/{job.id}",
                status=wording.JOB[job.state],
                bars=_bars(job, scale, now),
                duration_ms=_milliseconds(job.created_at, job.finished_at),
                started_at=None if job.finished_at else job.created_at,
                current=current,
            )
        )
        if current and len(job.steps) > 1:
            rows += _step_rows(job, scale, now)
    return tuple(rows)


def _bars(job: told.JobView, scale: _Scale, now: int) -> tuple[WaterfallBar, ...]:
    attempt = job.attempts[-1] if job.attempts else None
    end = job.finished_at or now
    if attempt is None:
        return (scale.bar("queued", job.created_at, end),)
    bars = [scale.bar("queued", job.created_at, attempt.claimed_at)]
    bars.append(scale.bar("setup", attempt.claimed_at, attempt.started_at or end))
    if attempt.started_at is not None:
        bars.append(scale.bar("run", attempt.started_at, end))
    return tuple(bars)


def _step_rows(job: told.JobView, scale: _Scale, now: int) -> list[WaterfallRow]:
    taken = {step.index: (step.finished_at or now) - step.started_at for step in job.steps if step.started_at}
    slowest = set(sorted(taken, key=lambda index: -taken[index])[:MOST_STEPS])
    return [
        WaterfallRow(
            name=step.name,
            href=f"#L{step.first_line}" if step.first_line else "",
            status=wording.STEP[step.state],
            bars=(scale.bar("run", step.started_at, step.finished_at or now),),
            duration_ms=_milliseconds(step.started_at, step.finished_at),
            started_at=step.started_at,
            step=True,
        )
        for step in job.steps
        if step.index in slowest and step.started_at is not None
    ]


def _milliseconds(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else max(0, end - start) // 1000
