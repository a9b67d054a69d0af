"""What the steps of a workflow's job leave for people and for later jobs: annotations, summaries and outputs."""

from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import Connection

from ostler.protocol.v1.runner_messages import Annotation, StepReport
from ostler.store.sql import Insert, Sql

_ANNOTATE = Insert(
    "annotations",
    {
        "job_id": "text",
        "fence": "bigint",
        "number": "bigint",
        "step": "bigint",
        "level": "text",
        "title": "text",
        "message": "text",
        "file": "text",
        "line": "bigint",
        "end_line": "bigint",
        "start_column": "bigint",
        "end_column": "bigint",
    },
    conflict="ON CONFLICT (job_id, fence, number) DO NOTHING",
)
_SUMMARIZE = Sql(
    "INSERT INTO summaries (job_id, fence, step, markdown) VALUES (:job_id, :fence, :step, :markdown)"
    " ON CONFLICT (job_id, fence, step) DO UPDATE SET markdown = excluded.markdown"
)
_OUTPUT = Sql(
    "INSERT INTO job_outputs (job_id, outputs) VALUES (:job_id, :outputs)"
    " ON CONFLICT (job_id) DO UPDATE SET outputs = excluded.outputs"
)
_ANNOTATIONS = Sql(
    "SELECT a.job_id, a.step, a.level, a.message, a.title, a.file, a.line, a.end_line, a.start_column, a.end_column"
    " FROM annotations a JOIN jobs j ON j.id = a.job_id AND j.fence = a.fence WHERE a.job_id [among ids]"
    " ORDER BY a.job_id, a.number LIMIT :most"
)
_SUMMARIES = Sql(
    "SELECT s.job_id, s.step, s.markdown FROM summaries s JOIN jobs j ON j.id = s.job_id AND j.fence = s.fence"
    " WHERE s.job_id [among ids] ORDER BY s.job_id, s.step"
)
_OUTPUTS = Sql("SELECT job_id, outputs FROM job_outputs WHERE job_id [among ids]")

_PER_REPORT = 1000
_decode_outputs = msgspec.json.Decoder(dict[str, str]).decode


class Remark(msgspec.Struct, frozen=True):
    """An annotation with its place among jobs and steps."""

    job_id: str
    step: int
    annotation: Annotation


class Summary(msgspec.Struct, frozen=True):
    """What one step wrote into its summary."""

    job_id: str
    step: int
    markdown: str


def keep(connection: Connection, job_id: str, fence: int, report: StepReport) -> None:
    """Store what a report carries beside the state of its step; a repetition changes nothing."""
    first = report.sequence * _PER_REPORT
    _ANNOTATE.run(
        connection,
        [
            (
                job_id,
                fence,
                first + index,
                report.step,
                each.level,
                each.title,
                each.message,
                each.file,
                each.line,
                each.end_line,
                each.column,
                each.end_column,
            )
            for index, each in enumerate(report.annotations[:_PER_REPORT])
        ],
    )
    if report.summary:
        _SUMMARIZE.run(connection, job_id=job_id, fence=fence, step=report.step, markdown=report.summary)


def keep_outputs(connection: Connection, job_id: str, outputs: Mapping[str, str]) -> None:
    """Store the outputs of a job."""
    _OUTPUT.run(connection, job_id=job_id, outputs=msgspec.json.encode(outputs).decode())


def annotations(connection: Connection, job_ids: Sequence[str], *, limit: int = 5000) -> list[Remark]:
    """Return the annotations of the latest attempts of these jobs, in the order in which they were made."""
    rows = _ANNOTATIONS.rows(connection, ids=list(job_ids), most=limit) if job_ids else ()
    return [Remark(row[0], row[1], Annotation(*row[2:])) for row in rows]


def summaries(connection: Connection, job_ids: Sequence[str]) -> list[Summary]:
    """Return the summaries of the latest attempts of these jobs, in the order of their steps."""
    return [Summary(*row) for row in _SUMMARIES.rows(connection, ids=list(job_ids))] if job_ids else []


def outputs(connection: Connection, job_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the outputs of those of these jobs that have any."""
    rows = _OUTPUTS.rows(connection, ids=list(job_ids)) if job_ids else ()
    return {row[0]: _decode_outputs(row[1]) for row in rows}
