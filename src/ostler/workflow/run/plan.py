"""The plan of a run: the workflow, the workflows that it calls, and what is given with the event.

It is stored with the run and does not change. Nothing in it is expanded yet: which jobs a matrix has may depend on
what earlier jobs said.
"""

from typing import Final

import msgspec

from ostler.workflow.model import Concurrency, Workflow
from ostler.workflow.run.given import Given

DEEPEST_CALL: Final = 10
"""How many workflows may stand above each other, the first among them."""


class Plan(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Everything that a run will be decided by."""

    workflow: Workflow
    called: dict[str, Workflow] = {}
    """Reusable workflows by what ``calls`` names them."""
    given: Given
    name: str
    """What people see of this run: ``run-name``, rendered."""
    concurrency: Concurrency | None = None
    """The workflow's own, rendered."""
