"""From nodes to the typed tree of a workflow.

It assumes a file that the checks let through. Of any other it makes what it can, and never fails: what has the wrong
shape is taken for missing.
"""

from ostler.protocol.v1.program import Defaults, Scalar
from ostler.workflow import plain, step_builder
from ostler.workflow.language.events import filters_of
from ostler.workflow.model import (
    CalledOutput,
    CalledSecret,
    Concurrency,
    Deployment,
    Input,
    InputType,
    Job,
    RunsOn,
    Schedule,
    Strategy,
    Trigger,
    Workflow,
)
from ostler.workflow.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode

_INPUT_TYPES: dict[str, InputType] = {
    "string": "string",
    "boolean": "boolean",
    "number": "number",
    "choice": "choice",
    "environment": "environment",
}


def build(path: str, root: Node | None) -> Workflow:
    """Return the workflow that a tree stands for."""
    return Workflow(
        path=path,
        name=plain.text(plain.get(root, "name")),
        run_name=plain.text(plain.get(root, "run-name")),
        on=_triggers(plain.get(root, "on")),
        env=plain.variables(plain.get(root, "env")),
        defaults=_defaults(plain.get(root, "defaults")),
        concurrency=_concurrency(plain.get(root, "concurrency")),
        permissions=_permissions(plain.get(root, "permissions")),
        jobs=tuple(_job(entry) for entry in plain.entries(plain.get(root, "jobs"))),
    )


def _triggers(node: Node | None) -> tuple[Trigger, ...]:
    if isinstance(node, MappingNode):
        return tuple(_trigger(entry.key.text, entry.value) for entry in node)
    return tuple(Trigger(event=event) for event in plain.texts(node))


def _trigger(event: str, node: Node) -> Trigger:
    known = filters_of(event)
    types = plain.get(node, "types") if "types" in known else None
    inputs = {entry.key.text: _input(entry.value) for entry in plain.entries(plain.get(node, "inputs"))}
    return Trigger(
        event=event,
        types=None if types is None else plain.texts(types),
        lists={
            key: plain.texts(value) for key in known if key != "types" and _is_filled(value := plain.get(node, key))
        },
        schedules=tuple(_schedule(item) for item in node.items) if isinstance(node, SequenceNode) else (),
        inputs=inputs,
        secrets={
            entry.key.text: CalledSecret(
                required=plain.get_flag(entry.value, "required"),
                description=plain.text(plain.get(entry.value, "description")),
            )
            for entry in plain.entries(plain.get(node, "secrets"))
        },
        outputs={
            entry.key.text: CalledOutput(
                value=plain.text(plain.get(entry.value, "value")),
                description=plain.text(plain.get(entry.value, "description")),
            )
            for entry in plain.entries(plain.get(node, "outputs"))
        },
    )


def _is_filled(node: Node | None) -> bool:
    return node is not None and not (isinstance(node, ScalarNode) and node.value is None)


def _schedule(node: Node) -> Schedule:
    return Schedule(cron=plain.text(plain.get(node, "cron")), timezone=plain.text(plain.get(node, "timezone")) or "UTC")


def _input(node: Node) -> Input:
    default = plain.get(node, "default")
    return Input(
        type=_INPUT_TYPES.get(plain.text(plain.get(node, "type")), "string"),
        required=plain.get_flag(node, "required"),
        default=default.value if isinstance(default, ScalarNode) else None,
        description=plain.text(plain.get(node, "description")),
        options=plain.texts(plain.get(node, "options")),
    )


def _defaults(node: Node | None) -> Defaults:
    run = plain.get(node, "run")
    return Defaults(plain.text(plain.get(run, "shell")), plain.text(plain.get(run, "working-directory")))


def _concurrency(node: Node | None) -> Concurrency | None:
    if node is None:
        return None
    if isinstance(node, ScalarNode):
        return Concurrency(group=plain.text(node))
    return Concurrency(
        group=plain.text(plain.get(node, "group")),
        cancel_in_progress=plain.flag_or_template(plain.get(node, "cancel-in-progress"), default=False),
        queue=plain.text(plain.get(node, "queue")) or "single",
    )


def _permissions(node: Node | None) -> dict[str, str] | str | None:
    if node is None:
        return None
    if isinstance(node, ScalarNode):
        return plain.text(node)
    return {entry.key.text: plain.text(entry.value) for entry in plain.entries(node)}


def _job(entry: Entry) -> Job:
    node = entry.value
    steps = plain.get(node, "steps")
    return Job(
        id=entry.key.text,
        name=plain.text(plain.get(node, "name")),
        needs=plain.texts(plain.get(node, "needs")),
        if_=plain.text(plain.get(node, "if")),
        runs_on=_runs_on(plain.get(node, "runs-on")),
        environment=_environment(plain.get(node, "environment")),
        concurrency=_concurrency(plain.get(node, "concurrency")),
        permissions=_permissions(plain.get(node, "permissions")),
        env=plain.variables(plain.get(node, "env")),
        defaults=_defaults(plain.get(node, "defaults")),
        outputs={item.key.text: plain.text(item.value) for item in plain.entries(plain.get(node, "outputs"))},
        strategy=_strategy(plain.get(node, "strategy")),
        timeout_minutes=plain.number_or_template(plain.get(node, "timeout-minutes")),
        cancel_timeout_minutes=plain.number_or_template(plain.get(node, "cancel-timeout-minutes")),
        continue_on_error=plain.flag_or_template(plain.get(node, "continue-on-error"), default=False),
        container=step_builder.container(plain.get(node, "container")),
        services=step_builder.services(plain.get(node, "services")),
        steps=[step_builder.step(item) for item in steps.items] if isinstance(steps, SequenceNode) else [],
        uses=plain.text(plain.get(node, "uses")),
        with_=_arguments(plain.get(node, "with")),
        secrets="inherit" if isinstance(secrets := plain.get(node, "secrets"), ScalarNode) else _secrets(secrets),
        line=entry.key.span.line,
    )


def _arguments(node: Node | None) -> dict[str, Scalar]:
    arguments = plain.variables(node)
    return arguments if isinstance(arguments, dict) else {}


def _secrets(node: Node | None) -> dict[str, str]:
    return {entry.key.text: plain.text(entry.value) for entry in plain.entries(node)}


def _runs_on(node: Node | None) -> RunsOn:
    if not isinstance(node, MappingNode):
        return RunsOn(labels=_labels(node))
    return RunsOn(labels=_labels(node.get("labels")), group=plain.text(node.get("group")))


def _labels(node: Node | None) -> tuple[str, ...] | str:
    if isinstance(node, ScalarNode) and plain.is_template(node):
        return node.text
    return plain.texts(node)


def _environment(node: Node | None) -> Deployment | None:
    if node is None:
        return None
    if isinstance(node, ScalarNode):
        return Deployment(name=plain.text(node)) if plain.text(node) else None
    return Deployment(
        name=plain.text(plain.get(node, "name")),
        url=plain.text(plain.get(node, "url")),
        recorded=plain.flag_or_template(plain.get(node, "deployment"), default=True),
    )


def _strategy(node: Node | None) -> Strategy:
    return Strategy(
        matrix=_matrix(plain.get(node, "matrix")),
        fail_fast=plain.flag_or_template(plain.get(node, "fail-fast"), default=True),
        max_parallel=plain.number_or_template(plain.get(node, "max-parallel")),
    )


def _matrix(node: Node | None) -> dict[str, object] | str | None:
    if isinstance(node, ScalarNode):
        return node.text if plain.is_template(node) else None
    if isinstance(node, MappingNode):
        return {entry.key.text: plain.value(entry.value) for entry in node}
    return None
