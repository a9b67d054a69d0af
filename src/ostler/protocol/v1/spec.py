"""What a job is to do, as it travels from whoever submits it to the runner that executes it."""

from typing import Annotated, Literal

import msgspec

from ostler.protocol.v1.program import JobProgram

LONGEST_NAME = 200
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]
EnvironmentName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z", max_length=255)]
Environment = dict[EnvironmentName, str]
Label = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
Labels = Annotated[list[Label], msgspec.Meta(max_length=50)]

LARGEST = 2**53 - 1
"""The largest integer that every JSON reader holds exactly; a database's integers hold it too."""

Integer = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Network = Literal["full", "none"]
FEWEST_CPUS = 0.01
MOST_CPUS = 4096
TimeoutMs = Annotated[int, msgspec.Meta(ge=1, le=30 * 24 * 3_600_000)]


class StepSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """One command: either ``argv`` as it is, or ``script`` given to ``shell``; never both, never neither."""

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
    steps: Annotated[list[StepSpec], msgspec.Meta(max_length=1000)] = []
    program: JobProgram | None = None
    """The job of a workflow; it has steps of its own instead of ``steps``."""
    env: Environment = {}
    secrets: Environment = {}
    timeout_ms: TimeoutMs | None = None
    limits: Limits = Limits()
    network: Network = "full"
    job_token: bool = False
    """Its steps get ``OSTLER_JOB_TOKEN`` and ``OSTLER_URL``, with which they may keep artifacts."""


def fault_in(spec: JobSpec) -> str:
    """Return why no runner could execute this, as ``field: reason``; nothing if one can.

    Checked where jobs are submitted and not by the types: runners of other releases read the same specification.
    """
    cpus = spec.limits.cpus
    if cpus is not None and not FEWEST_CPUS <= cpus <= MOST_CPUS:
        return f"limits.cpus: {cpus:g} is outside {FEWEST_CPUS} to {MOST_CPUS}"
    if bool(spec.steps) is (spec.program is not None):
        return "steps: a job has either steps or the program of a workflow"
    for index, step in enumerate(spec.steps):
        fault = _fault_in_step(step)
        if fault:
            return f"steps[{index}].{fault}"
    return ""


def _fault_in_step(step: StepSpec) -> str:
    if step.argv is not None and step.script is not None:
        return "argv: a step has either argv or script, not both"
    if step.argv is None and step.script is None:
        return "argv: a step needs either argv or script"
    if step.argv is not None and not (step.argv and step.argv[0]):
        return "argv: its first word names a program and is missing"
    if step.script is not None and not step.shell.strip():
        return "shell: it is empty"
    return ""
