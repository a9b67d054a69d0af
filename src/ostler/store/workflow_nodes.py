"""The nodes of workflow runs as rows, for people and for finding what became of jobs: the run's state has the truth."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection

from ostler.domain.cause import Failure
from ostler.domain.job import JobState
from ostler.protocol.v1.workflow_messages import NodeView
from ostler.store.sql import Insert, Sql
from ostler.store.transitions import failure_from
from ostler.workflow.run.state import Node

_PUT = Insert(
    "workflow_nodes",
    {
        "run_id": "text",
        "node": "text",
        "position": "bigint",
        "kind": "text",
        "name": "text",
        "parent": "text",
        "parents": "text",
        "matrix": "text",
        "state": "text",
        "conclusion": "text",
        "note": "text",
        "job_id": "text",
    },
    conflict="ON CONFLICT (run_id, node) DO UPDATE SET position = excluded.position, name = excluded.name,"
    " parents = excluded.parents, matrix = excluded.matrix, state = excluded.state, conclusion = excluded.conclusion,"
    " note = excluded.note, job_id = coalesce(excluded.job_id, workflow_nodes.job_id)",
)
_ENDED = Sql(
    "SELECT n.node, n.job_id, j.state, j.failure, o.outputs FROM workflow_nodes n JOIN jobs j ON j.id = n.job_id"
    " LEFT JOIN job_outputs o ON o.job_id = j.id"
    " WHERE n.run_id = :run_id AND n.state <> 'ended' AND j.state IN ('succeeded', 'failed', 'cancelled')"
    " ORDER BY j.finished_at, j.id"
)
_JOBS = Sql("SELECT node, job_id FROM workflow_nodes WHERE run_id = :run_id AND job_id IS NOT NULL")
_LIST = Sql(
    "SELECT n.node, n.kind, n.name, n.parent, n.parents, n.matrix, n.state, n.conclusion, n.note, n.job_id,"
    " coalesce(j.state, '')"
    " FROM workflow_nodes n LEFT JOIN jobs j ON j.id = n.job_id WHERE n.run_id = :run_id ORDER BY n.position, n.node"
)
_NODE = Sql("SELECT run_id, node, matrix FROM workflow_nodes WHERE job_id = :job_id")
_OF_JOB = {"claimed": "queued", "running": "running", "cancelling": "cancelling"}

_outputs = msgspec.json.Decoder(dict[str, str]).decode
_texts = msgspec.json.Decoder(list[str]).decode


class EndedJob(NamedTuple):
    """A job that has ended although its run does not know yet."""

    node: str
    job_id: str
    state: JobState
    failure: Failure | None
    outputs: dict[str, str]


def put(connection: Connection, run_id: str, nodes: Iterable[tuple[int, Node]], jobs: Mapping[str, str]) -> None:
    """Store nodes at their places, and the jobs that were made for some of them."""
    _PUT.run(
        connection,
        [
            (
                run_id,
                node.id,
                position,
                node.kind,
                node.name[:500],
                node.parent,
                _text(node.parents),
                "" if node.matrix is None else _text(node.matrix),
                node.state.value,
                node.conclusion,
                node.note[:2000],
                jobs.get(node.id),
            )
            for position, node in nodes
        ],
    )


def ended_jobs(connection: Connection, run_id: str) -> list[EndedJob]:
    """Return the jobs whose end is news, in the order in which they ended."""
    return [
        EndedJob(row[0], row[1], JobState(row[2]), failure_from(row[3]), _outputs(row[4]) if row[4] else {})
        for row in _ENDED.rows(connection, run_id=run_id)
    ]


def jobs_of(connection: Connection, run_id: str) -> dict[str, str]:
    """Return the job of each node that has one."""
    return {row[0]: row[1] for row in _JOBS.rows(connection, run_id=run_id)}


def node_of(connection: Connection, job_id: str) -> tuple[str, str] | None:
    """Return the run and the node that a job was made for."""
    row = _NODE.row(connection, job_id=job_id)
    return None if row is None else (row[0], row[1])


def list_all(connection: Connection, run_id: str) -> list[NodeView]:
    """Return the nodes of a run in their order; whether one runs, its job knows best."""
    views: list[NodeView] = []
    for node, kind, name, parent, parents, matrix, state, conclusion, note, job_id, job_state in _LIST.rows(
        connection, run_id=run_id
    ):
        views.append(
            NodeView(
                id=node,
                name=name,
                kind=kind,
                state=str(state if state == "ended" else _OF_JOB.get(job_state, state)),
                conclusion=conclusion,
                note=note,
                parent=parent,
                needs=_texts(parents),
                matrix=msgspec.json.decode(matrix) if matrix else None,
                job_id=job_id or "",
            )
        )
    return views


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
