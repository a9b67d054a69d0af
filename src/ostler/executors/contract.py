"""The contract of an executor: how a supervisor turns the steps of one job into processes, and gets rid of them.

**Who calls.** One supervisor, from one thread. An executor may assume that it is alone in its process with the duty
to reap children, and that calls never overlap.

**Lifecycle.** ``open`` → (``start`` → ``poll`` until it returns the command's ``Exit``) repeated → ``close``; then
``open`` again for the next job. Several commands may run at once; ``start`` returns the handle by which one is
signalled and which ``Exit.handle`` repeats. No two that run have the same handle. What a command leaves in the
background stays for the later steps of the same job and dies in ``close``. A call out of this order raises
``NotReady`` and changes nothing.

**Waiting.** Only ``open`` and ``close`` may block, and only for as long as the kernel (or a container engine) needs;
``close`` gives up after ``patience_ms`` and raises ``TreeSurvived``. All else returns at once. To wait, a caller polls
``descriptor`` for reading: it becomes readable when ``poll`` may have news, which is then asked until it returns
``None``. It may also do so for nothing.

**Idempotency.** ``signal``, ``kill_one`` and ``kill`` may be repeated, may come when nothing runs, and may race with
the end of the command; all of that is harmless. ``close`` after ``close`` does nothing.

**Output.** The caller owns the pipes; commands may share one. A command's standard output and error both go to
``Command.output``; standard input is empty. When ``poll`` has returned the ``Exit``, all that the command itself wrote
is in the pipe; background processes may go on writing until ``close``.

**Secrets.** ``Command.environment`` may hold secrets. An executor hands it to the command and keeps, logs and stores
none of it.

**Errors.** A command that cannot start raises ``SpawnFailed``; the job is still open and the next step may be started.
A limit that this host cannot enforce makes ``open`` raise ``LimitUnavailable`` before anything runs, a network that
it cannot take away ``NetworkUnavailable``: both are kept or refused, never forgotten. Everything else that is no
``ExecutorError`` is a defect.
"""

from typing import Protocol

from ostler.executors.values import Capabilities, Command, Exit, Leftover, Place, Usage


class Executor(Protocol):
    """See the module: the rules hold for every implementation and are tested by one suite."""

    @property
    def descriptor(self) -> int:
        """Readable when ``poll`` may have news; the same for the executor's whole life."""
        ...

    @property
    def cgroup_paths(self) -> list[str]:
        """Where the open job's processes are, for whoever cleans up should this process die; empty without cgroups."""
        ...

    @property
    def isolation(self) -> str:
        """How far a job is kept from the host; the name that jobs demand it by."""
        ...

    def capabilities(self) -> Capabilities:
        """May be asked at any time; some answers are found by trying, so not for every job."""
        ...

    def open(self, place: Place) -> None:
        """Make the place in which the job's commands will run, limits included."""
        ...

    def start(self, command: Command) -> int:
        """Start a command and return its handle."""
        ...

    def poll(self) -> Exit | None:
        """Return the end of one command, each once; ``None`` while all that were started run or have been told."""
        ...

    def signal(self, handle: int, number: int) -> None:
        """Send a signal to a command and the processes of its group."""
        ...

    def kill_one(self, handle: int) -> None:
        """Kill a command and what descends from it, as far as that can be seen; other commands go on."""
        ...

    def kill(self) -> None:
        """Kill every process of the job, daemons and background included; ``poll`` then reports the commands' ends."""
        ...

    def usage(self) -> Usage:
        """Return the consumption so far; zeros where the host cannot tell."""
        ...

    def close(self, patience_ms: int = 5_000) -> tuple[Leftover, ...]:
        """Kill and reap all that is left, check that it is gone, give the place back; return what had to be killed."""
        ...

    def shutdown(self) -> None:
        """Release the executor itself, at the end of the supervisor's life."""
        ...
