"""What a run was submitted as, so that the same can be submitted again. Its secrets are not: they are erased."""

import msgspec
from sqlalchemy import Connection

from ostler.domain.job import JobKind
from ostler.domain.machine import Refused
from ostler.protocol.v1.run_messages import SubmitRequest
from ostler.protocol.v1.spec import JobSpec
from ostler.store.sql import Sql

_ORIGINAL = Sql(
    "SELECT j.kind, j.pool_id, j.pool_level, d.labels, d.runner_name, j.priority, s.spec FROM jobs j"
    " JOIN demand_classes d ON d.id = j.demand_id JOIN job_specs s ON s.job_id = j.id"
    " WHERE j.run_id = :run_id ORDER BY j.id LIMIT 1"
)

_spec = msgspec.json.Decoder(JobSpec).decode
_labels = msgspec.json.Decoder(list[str]).decode


def original(connection: Connection, run_id: str) -> SubmitRequest | Refused:
    """Return the request that would make the same run; its secrets have their names and no values."""
    row = _ORIGINAL.row(connection, run_id=run_id)
    if row is None:
        return Refused("not_found", f"there is no run {run_id!r}, or what it was to do is not kept any more")
    kind, pool_id, level, labels, runner_name, priority, spec = row
    return SubmitRequest(
        spec=_spec(spec),
        kind=JobKind(kind),
        # What went to a default pool goes to today's default again.
        pool=pool_id if level == "job" else "",
        labels=_labels(labels),
        runner_name=runner_name,
        priority=priority,
    )
