"""The nouns of the executor contract as plain values.

They stand apart from ``contract`` because every supervisor loads them, and neither ``typing`` nor ``dataclasses``
fits into its memory.
"""

from __future__ import annotations


class Limits:
    """What the processes of a job may use together; 0 means no limit."""

    __slots__ = ("cpu_millis", "memory_bytes", "pids")

    def __init__(self, *, memory_bytes: int = 0, cpu_millis: int = 0, pids: int = 0) -> None:
        self.memory_bytes: int = memory_bytes
        self.cpu_millis: int = cpu_millis
        self.pids: int = pids

    @property
    def demanded(self) -> bool:
        """Whether there is any limit at all."""
        return bool(self.memory_bytes or self.cpu_millis or self.pids)


class Place:
    """Where a job runs: everything of it is named after its attempt, ``<job id>.<fence>``.

    ``network``: ``full`` is the host's own, ``none`` a loopback that the job has for itself.
    """

    __slots__ = ("attempt", "limits", "network")

    def __init__(self, attempt: str, limits: Limits, network: str = "full") -> None:
        self.attempt: str = attempt
        self.limits: Limits = limits
        self.network: str = network


class Command:
    """One command, ready to start. ``environment`` is the whole environment: nothing is inherited."""

    __slots__ = ("argv", "directory", "environment", "output")

    def __init__(self, argv: list[str], environment: dict[str, str], directory: str, output: int) -> None:
        self.argv: list[str] = argv
        self.environment: dict[str, str] = environment
        self.directory: str = directory
        self.output: int = output


class Exit:
    """How a command ended: with a code or by a signal, the other is ``None``. ``handle`` is what ``start`` returned."""

    __slots__ = ("code", "cpu_micros", "handle", "memory_peak_bytes", "signal")

    def __init__(
        self,
        code: int | None,
        signal: int | None = None,
        *,
        handle: int = 0,
        cpu_micros: int = 0,
        memory_peak_bytes: int = 0,
    ) -> None:
        self.code: int | None = code
        self.signal: int | None = signal
        self.handle: int = handle
        self.cpu_micros: int = cpu_micros
        self.memory_peak_bytes: int = memory_peak_bytes


class Usage:
    """What the whole job has consumed, background included; zeros where the host cannot tell.

    ``oom_kills``: how often the kernel killed one of its processes for want of memory. ``pids_refused``: how often
    the process limit kept it from forking.
    """

    __slots__ = ("cpu_micros", "memory_peak_bytes", "oom_kills", "pids_refused")

    def __init__(
        self,
        *,
        cpu_micros: int = 0,
        memory_peak_bytes: int = 0,
        oom_kills: int = 0,
        pids_refused: int = 0,
    ) -> None:
        self.cpu_micros: int = cpu_micros
        self.memory_peak_bytes: int = memory_peak_bytes
        self.oom_kills: int = oom_kills
        self.pids_refused: int = pids_refused


class Capabilities:
    """What an executor can promise on this host; nothing else is promised.

    ``limits``: which of ``memory``, ``cpu``, ``pids`` it enforces. ``networks``: which a job can have. ``kill``: how a
    tree is found, the best way that the host offers: ``cgroup.kill``, ``cgroup``, ``subreaper`` or ``group`` (a daemon
    may escape). ``notes``: what is missing and what that means, a sentence each.
    """

    __slots__ = ("isolation", "kill", "limits", "networks", "notes")

    def __init__(
        self, isolation: str, limits: frozenset[str], networks: frozenset[str], kill: str, notes: tuple[str, ...]
    ) -> None:
        self.isolation: str = isolation
        self.limits: frozenset[str] = limits
        self.networks: frozenset[str] = networks
        self.kill: str = kill
        self.notes: tuple[str, ...] = notes


class Leftover:
    """A process that outlived the last step and had to be killed."""

    __slots__ = ("name", "pid")

    def __init__(self, pid: int, name: str) -> None:
        self.pid: int = pid
        self.name: str = name
