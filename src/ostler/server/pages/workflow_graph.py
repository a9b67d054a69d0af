"""From the nodes of a run to the jobs of its graph: which are folded, which stand for others, what leads to what.

A large matrix is one job of the graph; a call of a reusable workflow is shown by the jobs within it. A line to a node
that is not shown itself leads to those that stand for it: to the last jobs of a called workflow, to all of a matrix.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ostler.server.pages import wording
from ostler.server.pages.rendering import plural
from ostler.server.pages.run_graph import GraphJob
from ostler.server.pages.views import Status
from ostler.workflow.run.display import Shown
from ostler.workflow.run.state import NodeState

_FOLDED_WORDS: Final = {
    "failure": "failed",
    "cancelled": "cancelled",
    "running": "running",
    "queued": "queued",
    "success": "succeeded",
    "skipped": "skipped",
}


def node_status(node: Shown) -> Status:
    """Return the state of a node as people read it."""
    if node.state is not NodeState.ENDED:
        return wording.NODE[node.state]
    if node.failed and node.conclusion == "success":
        return Status("attention", "Failed, and may")
    return wording.CONCLUSION[node.conclusion]


def graph_jobs(nodes: Sequence[Shown], hrefs: Mapping[str, str], details: Mapping[str, str]) -> list[GraphJob]:
    """Return what the graph shows. ``hrefs`` and ``details`` (how long it took) are by node."""
    return _Drawing(nodes).jobs(hrefs, details)


class _Drawing:
    def __init__(self, nodes: Sequence[Shown]) -> None:
        self._nodes = {node.id: node for node in nodes}
        self._below: dict[str, list[Shown]] = {}
        for node in nodes:
            self._below.setdefault(node.parent, []).append(node)
        self._drawn = {node.id for node in nodes if self._is_drawn(node)}
        self._exits: dict[str, tuple[str, ...]] = {}

    def jobs(self, hrefs: Mapping[str, str], details: Mapping[str, str]) -> list[GraphJob]:
        made: list[GraphJob] = []
        for node in self._nodes.values():
            if node.id not in self._drawn:
                continue
            folded = len(self._below.get(node.id, ()))
            made.append(
                GraphJob(
                    id=node.id,
                    name=node.name,
                    status=node_status(node),
                    needs=tuple(dict.fromkeys(exit_ for parent in self._needs(node) for exit_ in self._ends(parent))),
                    href=hrefs.get(node.id, "#run-jobs" if folded else ""),
                    detail=_told(node, folded) if folded else details.get(node.id, ""),
                    folded=folded,
                )
            )
        return made

    def _is_drawn(self, node: Shown) -> bool:
        if node.folded and node.folded != node.id:
            return False
        below = self._below.get(node.id, ())
        return node.kind == "job" or not below or any(each.folded == node.id for each in below)

    def _needs(self, node: Shown) -> tuple[str, ...]:
        """The first jobs of a called workflow, and those of a matrix, need what the node above them needs."""
        while not node.parents and node.parent:
            node = self._nodes[node.parent]
        return node.parents

    def _ends(self, node_id: str) -> tuple[str, ...]:
        """Return the drawn nodes whose end is the end of this one."""
        if node_id in self._drawn:
            return (node_id,)
        if node_id not in self._exits:
            below = self._below.get(node_id, ())
            needed = {parent for each in below for parent in each.parents}
            last = [each for each in below if each.id not in needed]
            self._exits[node_id] = tuple(end for each in last for end in self._ends(each.id))
        return self._exits[node_id]


def _told(node: Shown, folded: int) -> str:
    words = [f"{node.counts[key]} {word}" for key, word in _FOLDED_WORDS.items() if node.counts.get(key)]
    return f"{plural(folded, 'job')}: {', '.join(words[:2])}" if words else plural(folded, "job")
