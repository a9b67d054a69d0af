"""What a runner is given of a job that may start: everything that expressions settle before a runner has it."""

from collections.abc import Mapping
from typing import Final

import msgspec

from ostler.expr.values import Value, as_text
from ostler.protocol.v1.program import Defaults, JobProgram, Raw
from ostler.workflow.model import Deployment, Job, Workflow
from ostler.workflow.run.effects import StartedJob
from ostler.workflow.run.errors import Misconfigured
from ostler.workflow.run.evaluation import Contexts, Evaluator
from ostler.workflow.run.plan import Plan
from ostler.workflow.run.scopes import Frame, first_said
from ostler.workflow.run.state import Node

_MINUTE: Final = 60_000
_LONGEST: Final = 30 * 24 * 60
"""Minutes: no job may run for longer than 30 days."""


def strategy_of(node: Node) -> dict[str, Raw]:
    """Return the ``strategy`` context of a job."""
    return {
        "fail-fast": node.fail_fast,
        "job-index": float(node.index),
        "job-total": float(node.total),
        "max-parallel": float(node.max_parallel or node.total),
    }


def contexts_of_job(frame: Frame, node: Node) -> dict[str, Value]:
    """Return what may be used where a job is settled: its frame, and its place in a matrix."""
    matrix: Mapping[str, object] | None = node.matrix
    return frame.contexts | {"strategy": _value(strategy_of(node)), "matrix": _value(matrix)}


def started(plan: Plan, frame: Frame, node: Node, evaluator: Evaluator) -> StartedJob:
    """Settle a job; raise `Misconfigured` if it says something that cannot be."""
    job = frame.job
    contexts = contexts_of_job(frame, node)
    labels, group = _runner(job, evaluator, contexts)
    name, url, recorded = _environment(job.environment, evaluator, contexts)
    cancel_timeout_ms = _milliseconds(
        "cancel-timeout-minutes", job.cancel_timeout_minutes, plan.given.cancel_timeout_minutes, evaluator, contexts
    )
    return StartedJob(
        name=node.name,
        program=_program(plan, frame, node, url, cancel_timeout_ms),
        labels=labels,
        group=group,
        timeout_ms=_milliseconds(
            "timeout-minutes", job.timeout_minutes, plan.given.timeout_minutes, evaluator, contexts
        ),
        cancel_timeout_ms=cancel_timeout_ms,
        secrets=frame.secrets,
        continue_on_error=evaluator.flag("continue-on-error", job.continue_on_error, contexts),
        environment=name,
        environment_url=url,
        recorded=recorded,
        permissions=first_said(job.permissions, frame.scope.permissions),
    )


def _program(plan: Plan, frame: Frame, node: Node, environment_url: str, cancel_timeout_ms: int) -> JobProgram:
    job, workflow, given = frame.job, frame.scope.workflow, plan.given
    return JobProgram(
        job_id=job.id,
        steps=job.steps,
        env=[env for env in (workflow.env, job.env) if env],
        defaults=_defaults(workflow, job),
        outputs=job.outputs,
        container=job.container,
        services=job.services,
        github=given.github | {"job": job.id},
        inputs=_inputs(frame),
        vars=given.vars,
        matrix=node.matrix,
        strategy=strategy_of(node),
        needs=frame.needs,
        debug=given.debug,
        actions=given.actions,
        real_actions=given.real_actions,
        clone_url=given.clone_url,
        environment_url=environment_url,
        cancel_timeout_ms=cancel_timeout_ms,
    )


def _inputs(frame: Frame) -> dict[str, Raw]:
    inputs = frame.contexts["inputs"]
    return dict(inputs) if isinstance(inputs, Mapping) else {}


def _defaults(workflow: Workflow, job: Job) -> Defaults:
    own, outer = job.defaults, workflow.defaults
    if not own.shell and not own.working_directory:
        return outer
    return msgspec.structs.replace(
        own,
        shell=own.shell or outer.shell,
        working_directory=own.working_directory or outer.working_directory,
    )


def _runner(job: Job, evaluator: Evaluator, contexts: Contexts) -> tuple[tuple[str, ...], str]:
    """Return labels and group; an expression may yield a label, a list of them, or both."""
    written = job.runs_on.labels
    value: Value
    group = evaluator.text("runs-on.group", job.runs_on.group, contexts) if job.runs_on.group else ""
    if isinstance(written, str):
        value = evaluator.value("runs-on", written, contexts)
        if isinstance(value, Mapping):
            group = as_text(value.get("group")) or group
            value = value.get("labels")
    else:
        value = [evaluator.text("runs-on", label, contexts) for label in written]
    labels = _labels(value)
    if not labels and not group:
        raise Misconfigured("runs-on: it names no runner")
    return labels, group


def _labels(value: Value) -> tuple[str, ...]:
    if value is None:
        return ()
    each = value if isinstance(value, list) else [value]
    labels: list[str] = []
    for label in each:
        if not isinstance(label, str) or not label.strip():
            raise Misconfigured("runs-on: a label is empty or no text")
        labels.append(label.strip())
    return tuple(dict.fromkeys(labels))


def _environment(environment: Deployment | None, evaluator: Evaluator, contexts: Contexts) -> tuple[str, str, bool]:
    if environment is None:
        return "", "", True
    name = evaluator.text("environment.name", environment.name, contexts)
    if not name:
        return "", "", True
    return name, environment.url, evaluator.flag("environment.deployment", environment.recorded, contexts)


def _milliseconds(
    place: str, written: float | str | None, otherwise: float, evaluator: Evaluator, contexts: Contexts
) -> int:
    minutes = otherwise if written is None else evaluator.number(place, written, contexts)
    if minutes <= 0:
        raise Misconfigured(f"{place}: it must be more than 0")
    return max(1, int(min(minutes, _LONGEST) * _MINUTE))


def _value(raw: Mapping[str, object] | None) -> Value:
    return raw  # pyright: ignore[reportReturnType] - JSON
