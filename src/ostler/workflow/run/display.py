"""A run as people are shown it: its jobs with their names, what comes before what, and which are folded into one.

Levels are those of a layered drawing: a job stands to the right of all that it needs. Jobs of a called workflow have
levels of their own within it.
"""

from typing import Final, Literal

import msgspec

from ostler.workflow.run.effects import Conclusion
from ostler.workflow.run.graph import Graph
from ostler.workflow.run.plan import Plan
from ostler.workflow.run.scopes import Scopes, place_of
from ostler.workflow.run.state import Node, NodeKind, NodeState, RunState

LARGEST_UNFOLDED: Final = 8
"""A matrix with more jobs is shown as one."""


class Shown(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One node as it is shown."""

    id: str
    name: str
    """In full, as it stands in lists and on the forge."""
    label: str
    """Without the names of its callers, as it stands in a drawing that shows these around it."""
    kind: NodeKind
    state: NodeState
    conclusion: Conclusion | Literal[""] = ""
    failed: bool = False
    note: str = ""
    parent: str = ""
    """The matrix or call that it stands in."""
    parents: tuple[str, ...] = ()
    """The nodes that it needs."""
    level: int = 0
    folded: str = ""
    """The matrix that is shown instead of it."""
    counts: dict[str, int] = {}
    """Of a matrix or a call: how many jobs below it are in each state; of those that ended, by conclusion."""
    attempt: int = 1
    kept: bool = False
    """Whether it was decided in an earlier attempt."""


def display(plan: Plan, state: RunState) -> tuple[Shown, ...]:
    """Return the nodes of a run in the order of the file, what is below a node right after it."""
    scopes = Scopes(plan, state.nodes)
    levels: dict[str, dict[str, int]] = {}
    children: dict[str, list[Node]] = {}
    for node in state.nodes.values():
        children.setdefault(node.parent, []).append(node)
    counts = _counts(state)
    folded: dict[str, str] = {}
    shown: list[Shown] = []
    stack = list(reversed(_in_order(children.get("", []), scopes.of("").graph)))
    while stack:
        node = stack.pop()
        scope_id = place_of(node.id).scope
        if scope_id not in levels:
            levels[scope_id] = scopes.of(scope_id).graph.levels()
        folded[node.id] = folded.get(node.parent) or _fold_of(node, state, children)
        caller = state.nodes[scope_id].name if scope_id else ""
        shown.append(
            Shown(
                id=node.id,
                name=node.name,
                label=node.name.removeprefix(f"{caller} / ") if caller else node.name,
                kind=node.kind,
                state=node.state,
                conclusion=node.conclusion,
                failed=node.failed,
                note=node.note,
                parent=node.parent,
                parents=node.parents,
                level=levels[scope_id][place_of(node.id).job],
                folded=folded[node.id],
                counts=counts.get(node.id, {}),
                attempt=node.attempt,
                kept=node.attempt < state.attempt,
            )
        )
        below = children.get(node.id, [])
        stack += reversed(_in_order(below, scopes.of(node.id).graph) if below and node.kind == "call" else below)
    return tuple(shown)


def _in_order(nodes: list[Node], graph: Graph) -> list[Node]:
    order = {job: at for at, job in enumerate(graph.jobs)}
    return sorted(nodes, key=lambda node: order[place_of(node.id).job])


def _fold_of(node: Node, state: RunState, children: dict[str, list[Node]]) -> str:
    parent = state.nodes.get(node.parent)
    if parent is None or parent.kind != "matrix" or len(children[parent.id]) <= LARGEST_UNFOLDED:
        return ""
    return parent.id


def _counts(state: RunState) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for node in state.nodes.values():
        if node.kind != "job":
            continue
        word = node.conclusion or node.state.value
        above = node.parent
        while above:
            below = counts.setdefault(above, {})
            below[word] = below.get(word, 0) + 1
            above = state.nodes[above].parent
    return counts
