"""From nodes to steps and containers, which travel to the runner and stand in actions as well as in jobs."""

from ostler.protocol.v1.program import Container, Scalar, Step
from ostler.workflow import plain
from ostler.workflow.nodes import MappingNode, Node, ScalarNode, SequenceNode


def step(node: Node) -> Step:
    """Return one step."""
    waited, parallel, cancelled = plain.get(node, "wait"), plain.get(node, "parallel"), plain.get(node, "cancel")
    return Step(
        id=plain.text(plain.get(node, "id")),
        name=plain.text(plain.get(node, "name")),
        if_=plain.text(plain.get(node, "if")),
        env=plain.variables(plain.get(node, "env")),
        run=_optional(plain.get(node, "run")),
        shell=plain.text(plain.get(node, "shell")),
        working_directory=plain.text(plain.get(node, "working-directory")),
        uses=_optional(plain.get(node, "uses")),
        with_=plain.variables(plain.get(node, "with")),
        continue_on_error=plain.flag_or_template(plain.get(node, "continue-on-error"), default=False),
        timeout_minutes=plain.number_or_template(plain.get(node, "timeout-minutes")),
        background=plain.flag_or_template(plain.get(node, "background"), default=False),
        wait=None if waited is None else list(plain.texts(waited)),
        wait_all=plain.get(node, "wait-all") is not None,
        cancel=None if cancelled is None else plain.text(cancelled),
        parallel=[step(item) for item in parallel.items] if isinstance(parallel, SequenceNode) else None,
        line=node.span.line,
    )


def _optional(node: Node | None) -> str | None:
    return None if node is None else plain.text(node)


def container(node: Node | None) -> Container | str | None:
    """Return what ``container`` says; None where there is none."""
    if isinstance(node, ScalarNode):
        return plain.text(node) or None
    return _container(node) if isinstance(node, MappingNode) and plain.text(node.get("image")) else None


def services(node: Node | None) -> dict[str, Container] | str:
    """Return the services by name, or one template that yields them."""
    if isinstance(node, ScalarNode) and plain.is_template(node):
        return node.text
    return {entry.key.text: _container(entry.value) for entry in plain.entries(node)}


def _container(node: Node) -> Container:
    if isinstance(node, ScalarNode):
        return Container(image=plain.text(node))
    credentials = plain.get(node, "credentials")
    variables = plain.variables(plain.get(node, "env"))
    env: dict[str, Scalar] = variables if isinstance(variables, dict) else {}
    return Container(
        image=plain.text(plain.get(node, "image")),
        env=env,
        ports=list(plain.texts(plain.get(node, "ports"))),
        volumes=list(plain.texts(plain.get(node, "volumes"))),
        options=plain.text(plain.get(node, "options")),
        username=plain.text(plain.get(credentials, "username")),
        password=plain.text(plain.get(credentials, "password")),
        entrypoint=plain.text(plain.get(node, "entrypoint")),
        command=plain.text(plain.get(node, "command")),
    )
