"""Which contexts and functions an expression may use, by the place where it stands.

What is decided before a runner has the job (conditions of jobs, labels, matrices) can only see what is known then; what
the steps say is evaluated on the runner, with all that happened before.
"""

from functools import lru_cache
from typing import Final, NamedTuple


class Scope(NamedTuple):
    """Names that are known in a place, beside the functions that are known everywhere."""

    contexts: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()

    @property
    def takes_expressions(self) -> bool:
        """Whether an expression may stand there at all."""
        return bool(self.contexts)


NOWHERE: Final = Scope()


@lru_cache(maxsize=256)
def joined(outer: Scope, inner: Scope) -> Scope:
    """Return what is known in a place within another one."""
    if not inner.contexts:
        return outer
    return Scope(outer.contexts | inner.contexts, outer.functions | inner.functions)


def _scope(contexts: str, functions: str = "") -> Scope:
    return Scope(frozenset(contexts.split()), frozenset(functions.split()))


_BEFORE = "github inputs vars"
_JOB = f"{_BEFORE} needs strategy matrix"
_RUNNER = f"{_JOB} steps job runner env"
_STATUS = "always success failure cancelled"

WORKFLOW: Final = _scope(_BEFORE)
"""``run-name``, ``concurrency`` of the workflow, defaults of called inputs."""
WORKFLOW_ENV: Final = _scope(f"{_BEFORE} secrets")
CALL_OUTPUT: Final = _scope(f"{_BEFORE} jobs")
JOB_IF: Final = _scope(f"{_BEFORE} needs", _STATUS)
STRATEGY: Final = _scope(f"{_BEFORE} needs")
JOB: Final = _scope(_JOB)
"""What is settled for each job of a matrix before it starts: labels, name, container, concurrency."""
JOB_SECRETS: Final = _scope(f"{_JOB} secrets")
JOB_DEFAULTS: Final = _scope(f"{_JOB} env")
CREDENTIALS: Final = _scope(f"{_BEFORE} secrets env")
JOB_OUTPUT: Final = _scope(f"{_RUNNER} secrets")
ENVIRONMENT_URL: Final = _scope(_RUNNER)
STEP: Final = _scope(f"{_RUNNER} secrets", "hashFiles")
STEP_IF: Final = _scope(_RUNNER, f"{_STATUS} hashFiles")

ACTION_DEFAULT: Final = _scope("github strategy matrix job runner", "hashFiles")
ACTION_OUTPUT: Final = _scope("github strategy matrix steps inputs job runner env")
ACTION_IF: Final = _scope("github strategy matrix job runner env inputs", f"{_STATUS} hashFiles")
ACTION_ARGUMENT: Final = _scope("inputs")
COMPOSITE: Final = _scope("github inputs strategy matrix steps job runner env", "hashFiles")
COMPOSITE_IF: Final = _scope("github inputs strategy matrix steps job runner env", f"{_STATUS} hashFiles")
