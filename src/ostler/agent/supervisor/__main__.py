"""The supervisor's life: get ready once, take a job, run it, be ready again; end when in doubt or when the agent left.

``python -E -s -m ostler.agent.supervisor FD``: FD is one end of a socket pair whose other end the agent holds. The
job arrives over it; nothing about a job is in the arguments, in the environment or, but for what ``directory`` lists,
on disk. An agent that dies while this process is idle ends it; one that dies while a job runs is of no interest to
the job.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import socket
import sys

from ostler.agent.supervisor.channel import Channel
from ostler.agent.supervisor.directory import Directory
from ostler.agent.supervisor.job import JobRun, Shutdown
from ostler.agent.supervisor.order import Order
from ostler.executors import kernel, tree
from ostler.executors.process import ProcessExecutor, note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_JOBS_PER_LIFE, _JOBS_PER_COLLECTION = 500, 20


def main() -> None:
    """Serve jobs until there is a reason to stop."""
    descriptor = int(sys.argv[1])
    # Whatever else came down from the agent is none of the job's business.
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))
    _harden()
    os.set_inheritable(descriptor, False)
    handover = Channel(socket.socket(fileno=descriptor), subscribed=True)
    shutdown = Shutdown()
    signal.signal(signal.SIGTERM, shutdown.ask)
    executor = ProcessExecutor()
    identity: dict[str, Any] = {"pid": os.getpid(), "start_time": tree.start_time(os.getpid()), "boot": _boot()}
    gc.freeze()
    gc.disable()
    for number in range(_JOBS_PER_LIFE):
        handover.send({"idle": os.getpid()})
        if number % _JOBS_PER_COLLECTION == 0:
            gc.collect()
        message = _next_job(handover, executor, shutdown)
        if message is None or not _serve(message, handover, executor, shutdown, identity):
            return


def _harden() -> None:
    if os.getsid(0) != os.getpid():
        os.setsid()
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, note)
    kernel.forbid_dumps()
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    os.chdir("/")


def _next_job(handover: Channel, executor: ProcessExecutor, shutdown: Shutdown) -> dict[str, Any] | None:
    poller = select.poll()
    poller.register(executor.descriptor, select.POLLIN)
    while not handover.closed and not shutdown.asked:
        poller.register(handover.fileno(), handover.interest)
        poller.poll()
        executor.poll()
        handover.flush()
        for message in handover.receive():
            if message.get("do") == "run":
                return message
    return None


def _serve(
    message: dict[str, Any],
    handover: Channel,
    executor: ProcessExecutor,
    shutdown: Shutdown,
    identity: dict[str, Any],
) -> bool:
    """Run one job; say whether this process is as good as new afterwards."""
    order = Order(message["order"])
    directory = Directory(message["directory"])
    directory.prepare(ready=message.get("ready", False))
    handover.forget_progress()
    run = JobRun(order, directory, executor, handover, shutdown)
    run.open()
    directory.write_state(
        {
            **identity,
            "attempt": order.attempt,
            "isolation": order.isolation,
            "cgroups": executor.cgroup_paths,
        }
    )
    handover.send({"accepted": True})
    if handover.closed:
        return False  # nobody knows that this began, so it never does
    run.run()
    directory.close()
    return not (run.survived or shutdown.asked or handover.closed)


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


if __name__ == "__main__":
    main()
