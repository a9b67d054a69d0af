"""What runners report of steps: kept in order of its sequence, ignored when repeated."""

import msgspec
from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.domain.step import StepState
from ostler.protocol.v1.run_messages import StepView
from ostler.protocol.v1.runner_messages import Directive, EventsRequest, StepReport
from ostler.store import reports
from ostler.store.attempts import directive, refusal
from ostler.store.database import hint
from ostler.store.sql import Sql
from ostler.store.transitions import load

_STORED = Sql("SELECT events_stored FROM attempts WHERE job_id = :job_id AND fence = :fence")
_ADVANCE = Sql("UPDATE attempts SET events_stored = :stored WHERE job_id = :job_id AND fence = :fence")
_UPSERT = Sql(
    "INSERT INTO steps (job_id, fence, step, name, state, started_at, finished_at, exit_code, signal, first_line,"
    " last_line, cpu_ms, max_memory_bytes) VALUES (:job_id, :fence, :step, :name, :state, :started_at, :finished_at,"
    " :exit_code, :signal, :first_line, :last_line, :cpu_ms, :max_memory_bytes)"
    " ON CONFLICT (job_id, fence, step) DO UPDATE SET name = excluded.name, state = excluded.state,"
    " started_at = coalesce(steps.started_at, excluded.started_at), finished_at = excluded.finished_at,"
    " exit_code = excluded.exit_code, signal = excluded.signal,"
    " first_line = coalesce(excluded.first_line, steps.first_line),"
    " last_line = coalesce(excluded.last_line, steps.last_line), cpu_ms = excluded.cpu_ms,"
    " max_memory_bytes = excluded.max_memory_bytes"
)
_STEPS = Sql(
    "SELECT step, name, state, started_at, finished_at, exit_code, signal, first_line, last_line FROM steps"
    " WHERE job_id = :job_id AND fence = :fence ORDER BY step"
)
_ENDED = frozenset({StepState.SUCCEEDED, StepState.FAILED, StepState.CANCELLED, StepState.SKIPPED})


class Recorded(msgspec.Struct, frozen=True):
    """The highest sequence that is stored, and what the runner should know."""

    stored: int
    directive: Directive | None = None


def record(connection: Connection, runner_id: str, request: EventsRequest, now: int) -> Recorded | Refused:
    """Store reports that follow what is stored; a gap ends the batch, so the runner sends from there again."""
    reference = (request.job_id, request.fence)
    held = load(connection, (reference,)).get(reference)
    if held is None or not held.held_by(runner_id):
        row = _STORED.row(connection, job_id=request.job_id, fence=request.fence)
        known = row[0] if row else 0
        mine = held is not None and held.attempt is not None and held.attempt.runner_id == runner_id
        if mine and request.events and request.events[-1].sequence <= known:
            return Recorded(known)
        return refusal(held, runner_id, request.job_id, request.fence)
    row = _STORED.row(connection, job_id=request.job_id, fence=request.fence)
    before = stored = row[0] if row else 0
    latest: dict[int, StepReport] = {}
    for report in sorted(request.events, key=lambda each: each.sequence):
        if report.sequence == stored + 1:
            earlier = latest.get(report.step)
            # The end of a step says how long it ran; what does not say that follows what did.
            if earlier is not None and report.duration_ms is None:
                _store(connection, request.job_id, request.fence, earlier, now)
            latest[report.step] = report
            stored += 1
            reports.keep(connection, request.job_id, request.fence, report)
    for report in latest.values():
        _store(connection, request.job_id, request.fence, report, now)
    if stored != before:
        _ADVANCE.run(connection, stored=stored, job_id=request.job_id, fence=request.fence)
        hint(connection, f"run:{held.job.run_id}")
    return Recorded(stored, directive(held))


def steps(connection: Connection, job_id: str, fence: int) -> list[StepView]:
    """Return the steps of an attempt as far as they are known."""
    return [
        StepView(row[0], row[1], StepState(row[2]), *row[3:])
        for row in _STEPS.rows(connection, job_id=job_id, fence=fence)
    ]


def _store(connection: Connection, job_id: str, fence: int, report: StepReport, now: int) -> None:
    happened_at = now - report.age_ms * 1000
    ended = report.state in _ENDED
    started_at: int | None = happened_at
    if report.state is StepState.SKIPPED or report.state is StepState.PENDING:
        started_at = None
    elif ended:
        started_at = None if report.duration_ms is None else happened_at - report.duration_ms * 1000
    _UPSERT.run(
        connection,
        job_id=job_id,
        fence=fence,
        step=report.step,
        name=report.name,
        state=report.state.value,
        started_at=started_at,
        finished_at=happened_at if ended else None,
        exit_code=report.exit_code,
        signal=report.signal,
        first_line=report.first_line,
        last_line=report.last_line,
        cpu_ms=report.cpu_ms,
        max_memory_bytes=report.max_memory_bytes,
    )
