"""A supervisor's life: get ready once, take a job, run it, be ready again; end when in doubt or when the agent left.

The same for both kinds of supervisors, which differ in what carries out an order. The job arrives over one end of a
socket pair whose other end the agent holds; nothing about a job is in the arguments, in the environment or, but for
what ``directory`` lists, on disk. An agent that dies while this process is idle ends it; one that dies while a job runs
is of no interest to the job.
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
from ostler.executors import kernel, tree
from ostler.executors.process import ProcessExecutor, note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, Protocol

    class Run(Protocol):
        """What carries out one order."""

        attempt: str
        isolation: str
        survived: bool

        def open(self) -> None: ...

        def run(self) -> None: ...

    MakeRun = Callable[[dict[str, Any], Directory, ProcessExecutor, Channel, "Shutdown"], Run]

_JOBS_PER_LIFE, _JOBS_PER_COLLECTION = 500, 20


class Shutdown:
    """Whether somebody asked this process to end; set from a signal handler, looked at where nothing is half done."""

    __slots__ = ("asked",)

    def __init__(self) -> None:
        self.asked: bool = False

    def ask(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True


def serve(make_run: MakeRun) -> None:
    """Serve jobs until there is a reason to stop. ``make_run`` reads an order and returns what carries it out."""
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
        if message is None or not _serve(message, handover, executor, shutdown, identity, make_run):
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
    make_run: MakeRun,
) -> bool:
    """Run one job; say whether this process is as good as new afterwards."""
    directory = Directory(message["directory"])
    directory.prepare(ready=message.get("ready", False))
    handover.forget_progress()
    run = make_run(message["order"], directory, executor, handover, shutdown)
    run.open()
    directory.write_state(
        {
            **identity,
            "attempt": run.attempt,
            "isolation": run.isolation,
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
