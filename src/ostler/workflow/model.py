"""A workflow as a typed tree: every default filled in where the language has one, every template as it was written.

Reading it from nodes is the business of ``builder``, asking whether it makes sense that of the checks, and carrying it
out that of the run. Steps are the wire's own, because they travel to the runner untouched.
"""

from typing import Literal, TypeAlias

import msgspec

from ostler.protocol.v1.program import Container, Defaults, Raw, Scalar, Step

Environment: TypeAlias = dict[str, Scalar] | str
"""Variables by name, or one template that yields them."""

InputType: TypeAlias = Literal["string", "boolean", "number", "choice", "environment"]


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """One input of ``workflow_dispatch`` or ``workflow_call``."""

    type: InputType = "string"
    required: bool = False
    default: Scalar = None
    description: str = ""
    options: tuple[str, ...] = ()


class CalledSecret(msgspec.Struct, frozen=True, kw_only=True):
    """One secret of ``workflow_call``."""

    required: bool = False
    description: str = ""


class CalledOutput(msgspec.Struct, frozen=True, kw_only=True):
    """One output of ``workflow_call``; ``value`` is a template over ``jobs``."""

    value: str
    description: str = ""


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of ``schedule``."""

    cron: str
    timezone: str = "UTC"


class Trigger(msgspec.Struct, frozen=True, kw_only=True):
    """One event of ``on``. ``lists`` holds branches, tags, paths, their ignore forms and workflows as written."""

    event: str
    types: tuple[str, ...] | None = None
    lists: dict[str, tuple[str, ...]] = {}
    schedules: tuple[Schedule, ...] = ()
    inputs: dict[str, Input] = {}
    secrets: dict[str, CalledSecret] = {}
    outputs: dict[str, CalledOutput] = {}


class Concurrency(msgspec.Struct, frozen=True, kw_only=True):
    """``concurrency``: one runs and, with the queue ``single``, one waits; with ``max`` as many wait as come."""

    group: str
    cancel_in_progress: bool | str = False
    queue: str = "single"


class RunsOn(msgspec.Struct, frozen=True, kw_only=True):
    """``runs-on``: labels, each of which may be a template; or one template that yields one label or a list."""

    labels: tuple[str, ...] | str = ()
    group: str = ""


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """``strategy``; the matrix as written, or one template that yields it."""

    matrix: dict[str, Raw] | str | None = None
    fail_fast: bool | str = True
    max_parallel: float | str | None = None


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """``environment``."""

    name: str
    url: str = ""
    recorded: bool | str = True
    """Whether a deployment is recorded for it."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job: its own steps, or the call of a reusable workflow (``uses``)."""

    id: str
    name: str = ""
    needs: tuple[str, ...] = ()
    if_: str = ""
    runs_on: RunsOn = RunsOn()
    environment: Deployment | None = None
    concurrency: Concurrency | None = None
    permissions: dict[str, str] | str | None = None
    env: Environment = {}
    defaults: Defaults = Defaults()
    outputs: dict[str, str] = {}
    strategy: Strategy = Strategy()
    timeout_minutes: float | str | None = None
    cancel_timeout_minutes: float | str | None = None
    continue_on_error: bool | str = False
    container: Container | str | None = None
    services: dict[str, Container] | str = {}
    steps: list[Step] = []
    uses: str = ""
    with_: dict[str, Scalar] = {}
    secrets: dict[str, str] | Literal["inherit"] = {}
    line: int = 0


class Workflow(msgspec.Struct, frozen=True, kw_only=True):
    """One file."""

    path: str
    name: str = ""
    """As written; where it is missing people see the path."""
    run_name: str = ""
    on: tuple[Trigger, ...] = ()
    env: Environment = {}
    defaults: Defaults = Defaults()
    concurrency: Concurrency | None = None
    permissions: dict[str, str] | str | None = None
    jobs: tuple[Job, ...] = ()

    def trigger(self, event: str) -> Trigger | None:
        """Return the entry of ``on`` for an event."""
        return next((trigger for trigger in self.on if trigger.event == event), None)

    def job(self, job_id: str) -> Job | None:
        """Return a job by its key."""
        return next((job for job in self.jobs if job.id == job_id), None)
