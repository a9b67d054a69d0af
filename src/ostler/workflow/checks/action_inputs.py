"""``with`` of steps: inputs that the action has, and none missing that it cannot do without.

Known are popular actions and those of the same repository. GitHub itself only warns of an unknown input.
"""

from collections.abc import Iterator

from ostler.expr.spelling import did_you_mean
from ostler.workflow import plain
from ostler.workflow.checks.nearby import local_action, local_path
from ostler.workflow.checks.sheet import Files, Sheet, literal, single
from ostler.workflow.findings import Finding
from ostler.workflow.language.actions import ACTIONS, KnownAction
from ostler.workflow.nodes import MappingNode, ScalarNode

_DOCKER_INPUTS = ("args", "entrypoint")


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check the inputs of every step with ``uses``."""
    for step in sheet.steps:
        uses = single(step.node.get("uses"))
        if uses is None or plain.is_template(uses) or not uses.text:
            continue
        path = local_path(uses.text)
        known = known_action(uses.text, sheet.files)
        if known is not None:
            yield from _inputs(step.node, uses, known)
        elif path and sheet.files is not None and path.startswith((".github/", ".ostler/")):
            message = f"there is no action in {path!r}"
            yield Finding("action-missing", message, uses.span, "Name a folder with an action.yml.", "hint")


def known_action(uses: str, files: Files | None) -> KnownAction | None:
    """Return what is known of an action; None if nothing is."""
    path = local_path(uses)
    if not path:
        return ACTIONS.get(uses.partition("@")[0].lower())
    root = None if files is None else local_action(files, path)
    return None if root is None else _declared(root)


def _declared(root: MappingNode) -> KnownAction:
    inputs = plain.entries(root.get("inputs"))
    required = frozenset(
        entry.key.text
        for entry in inputs
        if plain.get_flag(entry.value, "required") and plain.get(entry.value, "default") is None
    )
    composite = literal(plain.get(root.get("runs"), "using")) == "composite"
    outputs = frozenset(entry.key.text for entry in plain.entries(root.get("outputs"))) if composite else None
    return KnownAction(required, frozenset(entry.key.text for entry in inputs), outputs)


def _inputs(step: MappingNode, uses: ScalarNode, known: KnownAction) -> Iterator[Finding]:
    node = step.get("with")
    if plain.is_template(node) or any("${{" in entry.key.text for entry in plain.entries(node)):
        return
    name = uses.text.partition("@")[0]
    names = {each.lower() for each in known.inputs}
    given = {entry.key.text.lower() for entry in plain.entries(node)}
    for entry in plain.entries(node):
        if entry.key.text.lower() not in names and entry.key.text.lower() not in _DOCKER_INPUTS:
            listed = ", ".join(sorted(known.inputs)[:12])
            fix = did_you_mean(entry.key.text, sorted(known.inputs)) or (f"It has {listed} …" if listed else "")
            message = f"{name} has no input {entry.key.text[:60]!r}"
            yield Finding("input-unknown", message, entry.key.span, fix, "warning")
    missing = sorted(each for each in known.required if each.lower() not in given)
    if missing:
        message = f"{name} needs the input{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}"
        yield Finding("input-missing", message, uses.span, "Add it below `with`.", "warning")
