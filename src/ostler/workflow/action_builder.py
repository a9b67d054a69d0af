"""From nodes to the typed tree of an action; as tolerant as the builder of workflows."""

from ostler.workflow import plain, step_builder
from ostler.workflow.action_model import Action, ActionInput, ActionOutput, CompositeRuns, DockerRuns, NodeRuns, Runs
from ostler.workflow.nodes import Node, SequenceNode


def build_action(path: str, root: Node | None) -> Action:
    """Return the action that a tree stands for."""
    return Action(
        path=path,
        name=plain.text(plain.get(root, "name")),
        description=plain.text(plain.get(root, "description")),
        author=plain.text(plain.get(root, "author")),
        inputs={entry.key.text: _input(entry.value) for entry in plain.entries(plain.get(root, "inputs"))},
        outputs={
            entry.key.text: ActionOutput(
                value=plain.text(plain.get(entry.value, "value")),
                description=plain.text(plain.get(entry.value, "description")),
            )
            for entry in plain.entries(plain.get(root, "outputs"))
        },
        runs=_runs(plain.get(root, "runs")),
    )


def _input(node: Node) -> ActionInput:
    default = plain.get(node, "default")
    return ActionInput(
        required=plain.get_flag(node, "required"),
        default=None if default is None else plain.text(default),
        description=plain.text(plain.get(node, "description")),
        deprecation_message=plain.text(plain.get(node, "deprecationMessage")),
    )


def _runs(node: Node | None) -> Runs:
    using = plain.text(plain.get(node, "using"))
    if using == "docker":
        env = plain.variables(plain.get(node, "env"))
        return DockerRuns(
            image=plain.text(plain.get(node, "image")),
            entrypoint=plain.text(plain.get(node, "entrypoint")),
            args=list(plain.texts(plain.get(node, "args"))),
            env=env if isinstance(env, dict) else {},
            pre_entrypoint=plain.text(plain.get(node, "pre-entrypoint")),
            pre_if=plain.text(plain.get(node, "pre-if")),
            post_entrypoint=plain.text(plain.get(node, "post-entrypoint")),
            post_if=plain.text(plain.get(node, "post-if")),
        )
    if using == "composite":
        steps = plain.get(node, "steps")
        return CompositeRuns(
            steps=[step_builder.step(item) for item in steps.items] if isinstance(steps, SequenceNode) else []
        )
    return NodeRuns(
        using=using,
        main=plain.text(plain.get(node, "main")),
        pre=plain.text(plain.get(node, "pre")),
        pre_if=plain.text(plain.get(node, "pre-if")),
        post=plain.text(plain.get(node, "post")),
        post_if=plain.text(plain.get(node, "post-if")),
    )
