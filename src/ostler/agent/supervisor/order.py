"""What the supervisor is told to run, taken from JSON once and checked where it enters.

The twin of ``ostler.agent.supervision.JobOrder`` in plain classes: msgspec would not fit into the supervisor's memory.
It exists in memory only, because it holds the job's secrets.
"""

from __future__ import annotations

from ostler.executors.values import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHELLS = {
    "bash": "bash --noprofile --norc -eo pipefail {0}",
    "sh": "sh -e {0}",
}


class Step:
    """One command: ``argv`` as it is, or a ``script`` for the shell."""

    __slots__ = ("always", "argv", "env", "name", "script", "shell", "timeout_ms", "working_directory")

    def __init__(self, given: dict[str, Any]) -> None:
        self.name: str = given.get("name", "")
        self.argv: list[str] = list(given.get("argv", ()))
        self.script: str = given.get("script", "")
        self.shell: str = given.get("shell", "bash")
        self.env: dict[str, str] = given.get("env", {})
        self.working_directory: str = given.get("working_directory", "")
        self.timeout_ms: int = given.get("timeout_ms", 0)
        self.always: bool = given.get("always", False)

    def command_line(self, script_path: str) -> list[str]:
        """Return the words to start, with the script's file in its place."""
        if self.argv:
            return self.argv
        template = SHELLS.get(self.shell, self.shell).split()
        words = [word.replace("{0}", script_path) for word in template]
        return words if words != template else [*words, script_path]


class Order:
    """One attempt of a job."""

    __slots__ = (
        "attempt",
        "disk_bytes",
        "env",
        "fence",
        "interrupt_grace_ms",
        "isolation",
        "job_id",
        "limits",
        "log_bytes",
        "network",
        "program",
        "secrets",
        "steps",
        "terminate_grace_ms",
        "timeout_ms",
    )

    def __init__(self, given: dict[str, Any]) -> None:
        limits = given.get("limits", {})
        self.job_id: str = given["job_id"]
        self.fence: int = given["fence"]
        self.attempt: str = f"{self.job_id}.{self.fence}"
        self.program: bool = bool(given.get("program"))
        """Whether it is the job of a workflow, which this kind of supervisor cannot run."""
        self.steps: list[Step] = [Step(one) for one in given.get("steps", ())]
        self.env: dict[str, str] = given.get("env", {})
        self.secrets: list[str] = given.get("secrets", [])
        self.timeout_ms: int = given.get("timeout_ms", 0)
        self.interrupt_grace_ms: int = given.get("interrupt_grace_ms", 7_500)
        self.terminate_grace_ms: int = given.get("terminate_grace_ms", 2_500)
        self.isolation: str = given.get("isolation", "process")
        self.network: str = given.get("network", "full")
        self.limits: Limits = Limits(
            memory_bytes=limits.get("memory_bytes", 0),
            cpu_millis=limits.get("cpu_millis", 0),
            pids=limits.get("pids", 0),
        )
        self.disk_bytes: int = limits.get("disk_bytes", 0)
        self.log_bytes: int = limits.get("log_bytes", 0)
