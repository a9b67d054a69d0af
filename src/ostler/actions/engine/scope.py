"""What the steps of a job share, and what an expression of one of them can see.

Two levels: the job, and the *place* where steps stand, which is the job's own list or that of a composite action, with
a ``steps`` context and a status of its own.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ostler.actions.engine.environment import JobEnvironment
from ostler.actions.engine.machine import Machine
from ostler.actions.engine.matchers import Matchers
from ostler.actions.hashing import hash_files_below
from ostler.expr.evaluation import Function, Scope
from ostler.expr.values import CaseSensitive, Value, as_text
from ostler.protocol.v1.program import JobProgram, Step

JOB_SECRET_TOKEN = "GITHUB_TOKEN"


class Services(NamedTuple):
    """What actions find beyond their inputs; the twin of ``ActionServices`` in the agent's order."""

    cache: str = ""
    mirrors: tuple[str, ...] = ()
    source: str = ""
    store: str = ""
    server: str = ""
    token: str = ""
    node: Mapping[str, str] = {}
    reach: Mapping[str, str] = {}


class JobState:
    """All that the steps of one job share."""

    def __init__(
        self,
        program: JobProgram,
        secrets: Mapping[str, str],
        services: Services,
        machine: Machine,
        base: Mapping[str, str],
    ) -> None:
        self.program = program
        self.secrets = dict(secrets)
        self.services = services
        self.machine = machine
        self.base = dict(base)
        """The lowest layer of every step's environment; no context shows it."""
        self.environment = JobEnvironment()
        self.matchers = Matchers()
        self.failed = False
        self.cancelled = False
        self.beside = 0
        """How many steps run in the background: while there are any, nobody may leave a line unfinished."""
        self.halted = False
        """Nothing more runs, not even what always does: the host ends, or its disk is full."""
        self.debug = (
            program.debug or secrets.get("ACTIONS_STEP_DEBUG", program.vars.get("ACTIONS_STEP_DEBUG")) == "true"
        )
        self._names: dict[str, int] = {}
        self._keys = 0
        layout, host = machine.layout, machine.host
        self.runner: dict[str, Value] = {
            "name": host.name,
            "os": host.os,
            "arch": host.arch,
            "temp": layout.temp,
            "tool_cache": layout.tool_cache,
            "workspace": layout.workspace,
            "environment": "self-hosted",
            **({"debug": "1"} if self.debug else {}),
        }
        self.hash_files = hash_files_below(layout.workspace, layout.home)
        token = self.secrets.get(JOB_SECRET_TOKEN) or as_text(_value(program.github.get("token")))
        self.github: dict[str, Value] = {
            "api_url": "https://api.github.com",
            "graphql_url": "https://api.github.com/graphql",
            "server_url": "https://github.com",
            "retention_days": "90",
            **{name: _value(one) for name, one in program.github.items()},
            "token": token,
            "job": program.job_id,
            "workspace": layout.workspace,
            "event_path": f"{layout.files}/event.json",
        }

    def new_key(self) -> str:
        """Return a number for the files of the next step."""
        self._keys += 1
        return str(self._keys)

    def step_name(self, step: Step) -> str:
        """Return what ``github.action`` says: the step's id, or a name made of what it runs."""
        if step.id:
            return step.id
        base = "__run"
        if step.uses is not None:
            name = step.uses.partition("@")[0]
            base = "__self" if name.startswith(".") else f"__{name.replace('/', '_')}"
        count = self._names[base] = self._names.get(base, 0) + 1
        return base if count == 1 else f"{base}_{count}"

    @property
    def status(self) -> str:
        """What ``job.status`` says."""
        return "cancelled" if self.cancelled else "failure" if self.failed else "success"

    def job_context(self) -> dict[str, Value]:
        """Return the context ``job``."""
        reference = as_text(_value(self.program.github.get("job_workflow_ref"))) or as_text(
            self.github.get("workflow_ref")
        )
        file, _, _ = reference.partition("@")
        parts = file.split("/", 2)
        whole = len(parts) == 3
        return {
            "status": self.status,
            "container": {},
            "services": {},
            "check_run_id": None,
            "workflow_ref": reference,
            "workflow_sha": self.github.get("workflow_sha"),
            "workflow_repository": "/".join(parts[:2]) if whole else "",
            "workflow_file_path": parts[2] if whole else "",
        }


class ActionAt(NamedTuple):
    """The action that a composite step or a script of an action stands in."""

    directory: str
    repository: str = ""
    ref: str = ""


class Place:
    """A list of steps: the job's own, or that of a composite action."""

    def __init__(
        self,
        inputs: Mapping[str, Value],
        *,
        action: ActionAt | None = None,
        env: Mapping[str, str] | None = None,
        depth: int = 0,
    ) -> None:
        self.steps: dict[str, Value] = {}
        self.inputs = inputs
        self.action = action
        self.env = dict(env or {})
        """What the composite step's own ``env`` says; its inner steps see it."""
        self.depth = depth
        self.failed = False
        """Whether a step of a composite action failed; the job's own list asks the job."""
        self.trouble: tuple[str, str] = ("", "")
        """Of its first step that failed: the code and the message of what kept it from being carried out."""

    @property
    def embedded(self) -> bool:
        return self.action is not None


class View:
    """What one step sees. ``env`` may not change after the first look at anything but conditions."""

    def __init__(
        self,
        job: JobState,
        place: Place,
        env: Mapping[str, str],
        github: Mapping[str, Value],
        *,
        main: bool = True,
    ) -> None:
        self.job = job
        self.place = place
        self._env = env
        self._github = github
        """What it has instead of the job's: its name, its files."""
        self._main = main
        """Whether it runs between the others; what runs before or after asks for the status of the job."""
        self._seen: Scope | None = None

    def all_is_well(self) -> bool:
        """What a step without a condition asks."""
        return not self._failed and not self.job.cancelled

    def plain(self) -> Scope:
        """Return what most keys of a step see, the same for all of them."""
        if self._seen is None:
            self._seen = self.scope()
        return self._seen

    def scope(self, *, status: bool = False, secrets: bool = True, hashes: bool = True) -> Scope:
        """Return the contexts and functions for one of its keys, as they are now."""
        job, place = self.job, self.place
        program = job.program
        contexts: dict[str, Value] = {
            "github": {**job.github, **self._github},
            "env": CaseSensitive(self._env),
            "job": job.job_context(),
            "steps": place.steps,
            "runner": job.runner,
            "strategy": _value(program.strategy),
            "matrix": _value(program.matrix),
            "inputs": place.inputs,
        }
        if not place.embedded:
            contexts["vars"] = dict(program.vars)
            contexts["needs"] = {
                name: {"result": one.result, "outputs": dict(one.outputs)} for name, one in program.needs.items()
            }
            if secrets:
                contexts["secrets"] = {**job.secrets, JOB_SECRET_TOKEN: job.github["token"]}
        functions: dict[str, Function] = {"hashfiles": job.hash_files} if hashes else {}
        if status:
            functions |= self._status()
        return Scope(contexts, functions)

    @property
    def _failed(self) -> bool:
        return self.place.failed if self.place.embedded and self._main else self.job.failed

    def _status(self) -> dict[str, Function]:
        job, failed = self.job, self._failed

        def plain(answer: bool) -> Function:  # noqa: FBT001 - the answer of a function
            return lambda _: answer

        return {
            "always": plain(True),
            "cancelled": plain(job.cancelled),
            "failure": plain(failed and not job.cancelled),
            "success": plain(not failed and not job.cancelled),
        }


def _value(raw: object) -> Value:
    """Take a value of the wire for one of the language: both are JSON."""
    return raw  # pyright: ignore[reportReturnType]
