"""The plan of a run: the workflow, the workflows that it calls, and what is given with the event.

It is stored with the run and does not change. Nothing in it is expanded yet: which jobs a matrix has may depend on
what earlier jobs said.
"""

from collections.abc import Mapping
from typing import Final, cast

import msgspec

from ostler.domain.machine import Refused
from ostler.expr.values import Value
from ostler.workflow.model import Concurrency, Workflow
from ostler.workflow.run.calling import fault_in_calls
from ostler.workflow.run.concurrency import LONGEST_NAME
from ostler.workflow.run.errors import Misconfigured
from ostler.workflow.run.evaluation import Contexts, Evaluator
from ostler.workflow.run.github import default_run_name
from ostler.workflow.run.given import Given

MOST_NODES: Final = 50_000
"""How many nodes a run may have, in all its matrices and calls."""
_LONGEST_RUN_NAME: Final = 255


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
    attempt: int = 1


def make_plan(workflow: Workflow, called: Mapping[str, Workflow], given: Given) -> Plan | Refused:
    """Make the plan of a run, or say why there can be none."""
    fault = fault_in_calls(workflow, called)
    if fault is not None:
        return fault
    if len(workflow.jobs) > MOST_NODES:
        return Refused("workflow_invalid", f"{workflow.path} has more than {MOST_NODES} jobs")
    evaluator = Evaluator()
    contexts = contexts_of_event(given)
    try:
        name = evaluator.text("run-name", workflow.run_name, contexts).strip() if workflow.run_name else ""
        concurrency = None
        if workflow.concurrency is not None:
            concurrency = rendered(workflow.concurrency, evaluator, contexts)
    except Misconfigured as misconfigured:
        return Refused("workflow_misconfigured", f"{workflow.path}: {misconfigured}")
    return Plan(
        workflow=workflow,
        called=dict(called),
        given=given,
        name=(name or default_run_name(given.github) or workflow.name or workflow.path)[:_LONGEST_RUN_NAME],
        concurrency=concurrency,
    )


def next_attempt(plan: Plan, *, triggering_actor: str = "", debug: bool = False) -> Plan:
    """Return the plan of another attempt: the same event, seen by a run that knows how often it was tried."""
    attempt = plan.attempt + 1
    github = plan.given.github | {"run_attempt": str(attempt)}
    if triggering_actor:
        github["triggering_actor"] = triggering_actor
    given = msgspec.structs.replace(plan.given, github=github, debug=debug or plan.given.debug, approved=True)
    return msgspec.structs.replace(plan, given=given, attempt=attempt)


def contexts_of_event(given: Given) -> dict[str, Value]:
    """Return what expressions can see before there is any job."""
    return {
        "github": cast("Value", given.github),
        "inputs": cast("Value", given.inputs),
        "vars": cast("Value", given.vars),
    }


def rendered(concurrency: Concurrency, evaluator: Evaluator, contexts: Contexts) -> Concurrency:
    """Return what ``concurrency`` asks for; raise `Misconfigured` if that cannot be."""
    group = evaluator.text("concurrency.group", concurrency.group, contexts)
    if not group.strip():
        raise Misconfigured("concurrency.group: it is empty")
    if len(group) > LONGEST_NAME:
        raise Misconfigured(f"concurrency.group: it has more than {LONGEST_NAME} characters")
    cancel = evaluator.flag("concurrency.cancel-in-progress", concurrency.cancel_in_progress, contexts)
    if cancel and concurrency.queue == "max":
        raise Misconfigured("concurrency: what is cancelled by the next one cannot queue (`queue: max`)")
    return Concurrency(group=group, cancel_in_progress=cancel, queue=concurrency.queue)
