"""The secrets of a job, by the names that it knows them by.

Callers pass secrets on under other names, or make new ones of them, so their values must be known for that: whoever
gives a job to a runner asks here, with the values of those that the job is started with.
"""

from collections.abc import Mapping

from ostler.domain.machine import Refused
from ostler.expr.values import Value
from ostler.workflow.run.errors import Misconfigured
from ostler.workflow.run.evaluation import Evaluator
from ostler.workflow.run.plan import Plan
from ostler.workflow.run.scopes import Scopes, place_of
from ostler.workflow.run.starting import contexts_of_job
from ostler.workflow.run.state import RunState


def secret_values(plan: Plan, state: RunState, node_id: str, values: Mapping[str, str]) -> dict[str, str] | Refused:
    """Return the ``secrets`` context of a job, of the values of the run's own secrets; empty ones are left out."""
    scopes, evaluator = Scopes(plan, state.nodes), Evaluator()
    callers: list[str] = []
    scope = place_of(node_id).scope
    while scope:
        callers.append(scope)
        scope = place_of(scope).scope
    known = {name: value for name, value in values.items() if value}
    try:
        for caller in reversed(callers):
            frame = scopes.frame(caller)
            if frame.job.secrets == "inherit":
                continue
            context: Mapping[str, Value] = known
            contexts = contexts_of_job(frame, state.nodes[caller]) | {"secrets": context}
            passed = {
                name: evaluator.text(f"secrets.{name}", text, contexts) for name, text in frame.job.secrets.items()
            }
            known = {name: value for name, value in passed.items() if value}
    except Misconfigured as misconfigured:
        return Refused("workflow_misconfigured", str(misconfigured))
    return known
