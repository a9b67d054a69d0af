"""``python -E -s -m ostler.agent.workflow_supervisor FD``: the supervisor of jobs of workflows."""

from __future__ import annotations

from typing import Any

import msgspec

from ostler.agent.supervision import JobOrder
from ostler.agent.supervisor.channel import Channel
from ostler.agent.supervisor.directory import Directory
from ostler.agent.supervisor.life import Shutdown, serve
from ostler.agent.workflow_supervisor.run import WorkflowRun
from ostler.executors.process import ProcessExecutor


def _make_run(
    order: dict[str, Any], directory: Directory, executor: ProcessExecutor, handover: Channel, shutdown: Shutdown
) -> WorkflowRun:
    return WorkflowRun(msgspec.convert(order, JobOrder), directory, executor, handover, shutdown)


if __name__ == "__main__":
    serve(_make_run)
