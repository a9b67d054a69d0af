"""What a job is to do, as it travels from whoever submits it to the runner that executes it."""

from typing import Annotated, Literal

import msgspec

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
EnvironmentName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z", max_length=255)]
Environment = dict[EnvironmentName, str]
Label = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
Labels = Annotated[list[Label], msgspec.Meta(max_length=50)]

LARGEST = 2**53 - 1
"""The largest integer that every JSON reader holds exactly; a database's integers hold it too."""

Integer = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Network = Literal["full", "none"]
TimeoutMs = Annotated[int, msgspec.Meta(ge=1, le=30 * 24 * 3_600_000)]


class StepSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """One command: either ``argv`` as it is, or ``script`` given to ``shell``."""

    name: Name
    argv: list[str] | None = None
    script: str | None = None
    shell: str = "sh"
    env: Environment = {}
    working_directory: str = ""
    timeout_ms: TimeoutMs | None = None
    always: bool = False


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a job may use; none means the runner's own default."""

    memory_bytes: Count | None = None
    cpus: float | None = None
    pids: Count | None = None
    disk_bytes: Count | None = None
    log_bytes: Count | None = None


class JobSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything a runner needs to execute a job. ``secrets`` are injected as environment and masked in the log.

    With the network ``none`` its steps reach each other and nothing else; the runner may demand the same by itself.
    """

    name: Name
    steps: Annotated[list[StepSpec], msgspec.Meta(min_length=1, max_length=1000)]
    env: Environment = {}
    secrets: Environment = {}
    timeout_ms: TimeoutMs | None = None
    limits: Limits = Limits()
    network: Network = "full"
