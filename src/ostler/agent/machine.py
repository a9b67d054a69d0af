"""The machine that the runner lives on: what it is, and how it is doing right now.

Read from /proc where there is one; what a system does not tell is left empty rather than guessed.
"""

import os
from pathlib import Path
from typing import Protocol

from ostler.protocol.v1.runner_messages import Metrics, SystemInfo


class Machine(Protocol):
    """Asked from the event loop: must not block."""

    def system(self) -> SystemInfo:
        """What the machine is."""
        ...

    def metrics(self) -> Metrics:
        """How it is doing; the processor's share is that since the last call."""
        ...


class LocalMachine:
    """This machine; ``directory`` is on the disk that jobs use."""

    def __init__(self, directory: Path, proc: Path = Path("/proc")) -> None:
        self._directory = directory
        self._proc = proc
        self._processor = self._processor_times()

    def system(self) -> SystemInfo:
        name = os.uname()
        status = os.statvfs(self._directory)
        return SystemInfo(
            os=_distribution() or name.sysname,
            kernel=name.release,
            architecture=name.machine,
            hostname=name.nodename,
            cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            disk_bytes=status.f_blocks * status.f_frsize,
        )

    def metrics(self) -> Metrics:
        status = os.statvfs(self._directory)
        return Metrics(
            cpu_percent=self._processor_share(),
            memory_used_bytes=self._memory_used(),
            disk_free_bytes=status.f_bavail * status.f_frsize,
            load=round(os.getloadavg()[0], 2),
        )

    def _processor_share(self) -> float:
        idle, total = self._processor_times()
        before_idle, before_total = self._processor
        self._processor = (idle, total)
        passed = total - before_total
        return round(100 * (1 - (idle - before_idle) / passed), 1) if passed > 0 else 0.0

    def _processor_times(self) -> tuple[int, int]:
        try:
            with (self._proc / "stat").open() as file:
                ticks = [int(field) for field in file.readline().split()[1:9]]
        except (OSError, ValueError):
            return 0, 0
        return ticks[3] + ticks[4], sum(ticks)

    def _memory_used(self) -> int:
        try:
            with (self._proc / "meminfo").open() as file:
                kibibytes = {line.split(":")[0]: int(line.split()[1]) for line in file}
            return (kibibytes["MemTotal"] - kibibytes["MemAvailable"]) * 1024
        except (OSError, ValueError, KeyError):
            return 0


def _distribution() -> str:
    try:
        lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    names = [line.removeprefix("PRETTY_NAME=").strip("\"'") for line in lines if line.startswith("PRETTY_NAME=")]
    return names[0] if names else ""
