"""The nodes of a run in a form that can be changed, with what is counted of them.

What one happening costs must not depend on how many nodes there are, so nothing here is searched for: each node knows
how many of those it needs are still open, each matrix and call how many below it are, and what went wrong above a job
is handed down from job to job.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ostler.workflow.run.effects import Conclusion
from ostler.workflow.run.state import NODE_MACHINE, Node, NodeEvent, NodeState, RunState

FAILURE: Final = 1
CANCELLED: Final = 2
SKIPPED: Final = 4
SUCCESS: Final = 8
_MARKS: Final[Mapping[str, int]] = {
    "success": SUCCESS,
    "failure": FAILURE,
    "cancelled": CANCELLED,
    "skipped": SKIPPED,
    "": 0,
}


class Tally:
    """How the nodes below a matrix, a call or the run itself ended so far."""

    __slots__ = ("marks", "open")

    def __init__(self) -> None:
        self.open = 0
        self.marks = 0

    def conclusion(self) -> Conclusion:
        """Return how all of them together ended: one failure makes a failure of it."""
        if self.marks & FAILURE:
            return "failure"
        if self.marks & CANCELLED:
            return "cancelled"
        return "success" if self.marks & SUCCESS or not self.marks else "skipped"


class Book:
    """The nodes of one run."""

    def __init__(self, state: RunState) -> None:
        self.nodes: dict[str, Node] = {}
        self.children: dict[str, list[str]] = {"": []}
        self.tallies: dict[str, Tally] = {"": Tally()}
        self.missing: dict[str, int] = {}
        """Of nodes that wait: how many that they need have not ended."""
        self.flaws: dict[str, int] = {}
        """Of jobs that have ended: what went wrong with them or with any before them, as marks."""
        self.turns = state.turns
        self.changed: set[str] = set()
        for node in state.nodes.values():
            self._enter(node)
        for node in sorted(state.nodes.values(), key=lambda node: node.turn):
            if node.state is NodeState.ENDED:
                self.hand_down(node)
        for node in state.nodes.values():
            if node.state is NodeState.WAITING:
                self.missing[node.id] = self._open_needs(node)

    def add(self, node: Node) -> None:
        """Take in a node that did not exist."""
        self._enter(node)
        self.changed.add(node.id)
        if node.state is NodeState.WAITING:
            self.missing[node.id] = self._open_needs(node)

    def move(self, node_id: str, event: NodeEvent, **changes: Any) -> Node | None:  # noqa: ANN401 - fields of Node
        """Let something happen to a node; if that is not possible now, it did not happen."""
        node = self.nodes[node_id]
        state = NODE_MACHINE.after(node.state, event)
        if not isinstance(state, NodeState):
            return None
        changed = msgspec.structs.replace(node, state=state, **changes)
        self.nodes[node_id] = changed
        self.changed.add(node_id)
        return changed

    def change(self, node_id: str, **changes: Any) -> None:  # noqa: ANN401 - fields of Node
        """Change what is known of a node, but not its state."""
        self.nodes[node_id] = msgspec.structs.replace(self.nodes[node_id], **changes)
        self.changed.add(node_id)

    def close(self, node: Node) -> Tally:
        """Count a node that has ended where it belongs."""
        tally = self.tallies[node.parent]
        tally.open -= 1
        tally.marks |= _MARKS[node.conclusion]
        return tally

    def need_met(self, node_id: str) -> bool:
        """Count that one of a node's needs has ended; return whether that was the last one."""
        missing = self.missing.get(node_id)
        if missing is None:
            return False
        self.missing[node_id] = missing - 1
        return missing == 1

    def hand_down(self, node: Node) -> None:
        """Settle what those who need a node will know of it and of all before it."""
        flaws = _MARKS[node.conclusion] & ~SUCCESS
        for parent in node.parents:
            flaws |= self.flaws.get(parent, 0)
        self.flaws[node.id] = flaws

    def flaws_before(self, node: Node) -> int:
        """Return what went wrong with any job that a node needs, directly or through others."""
        flaws = 0
        for parent in node.parents:
            flaws |= self.flaws.get(parent, 0)
        return flaws

    def _open_needs(self, node: Node) -> int:
        nodes = self.nodes
        return sum(1 for need in node.parents if need not in nodes or nodes[need].state is not NodeState.ENDED)

    def _enter(self, node: Node) -> None:
        self.nodes[node.id] = node
        self.children.setdefault(node.parent, []).append(node.id)
        tally = self.tallies.get(node.parent)
        if tally is None:
            tally = self.tallies[node.parent] = Tally()
        if node.state is NodeState.ENDED:
            tally.marks |= _MARKS[node.conclusion]
        else:
            tally.open += 1
