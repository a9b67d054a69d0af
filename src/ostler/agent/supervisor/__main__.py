"""``python -E -s -m ostler.agent.supervisor FD``: the supervisor of plain jobs. FD is its end of the agent's socket."""

from __future__ import annotations

from ostler.agent.supervisor.job import JobRun
from ostler.agent.supervisor.life import Shutdown, serve
from ostler.agent.supervisor.order import Order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ostler.agent.supervisor.channel import Channel
    from ostler.agent.supervisor.directory import Directory
    from ostler.executors.process import ProcessExecutor


def _make_run(
    order: dict[str, Any], directory: Directory, executor: ProcessExecutor, handover: Channel, shutdown: Shutdown
) -> JobRun:
    return JobRun(Order(order), directory, executor, handover, shutdown)


if __name__ == "__main__":
    serve(_make_run)
