"""The graph of a run, laid out here and sent as SVG: jobs in columns by what they need, lines between them.

A job stands one column to the right of the last that it needs. A line that passes over columns gets a place of its own
in each of them, so that it never runs behind a job. What is implied (a needs b, b needs c, a needs c too) has no line
of its own: fewer lines say the same. The order within the columns is improved by a few sweeps in which each takes the
middle of its neighbours; the result depends on nothing but the jobs and their order.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from ostler.server.pages.views import Status

NODE_WIDTH: Final = 212
NODE_HEIGHT: Final = 44
MOST_NODES: Final = 150
"""With more the graph is no help any more, and the waterfall is shown instead."""

_COLUMN_GAP = 60
_ROW_GAP = 16
_LANE_HEIGHT = 8
_MARGIN = 8
_SWEEPS = 4


class GraphJob(NamedTuple):
    """One job, or a matrix or called workflow that is folded into one node; ``detail`` stands below the name."""

    id: str
    name: str
    status: Status
    needs: tuple[str, ...] = ()
    href: str = ""
    detail: str = ""
    folded: int = 0


class GraphNode(NamedTuple):
    """A job in its place."""

    job: GraphJob
    x: int
    y: int


class Graph(NamedTuple):
    """What the template draws; ``lines`` are the paths of SVG."""

    width: int
    height: int
    nodes: tuple[GraphNode, ...]
    lines: tuple[str, ...]


class _Slot:
    """A place in a column: a job, or the passage of a line on its way to a later column."""

    __slots__ = ("after", "before", "column", "job", "order", "y")

    def __init__(self, column: int, job: GraphJob | None = None) -> None:
        self.column = column
        self.job = job
        self.order = 0.0
        self.y = 0.0
        self.before: list[_Slot] = []
        self.after: list[_Slot] = []

    @property
    def height(self) -> int:
        return NODE_HEIGHT if self.job else _LANE_HEIGHT

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def lay_out(jobs: Sequence[GraphJob]) -> Graph:
    """Return the graph of these jobs; each needs only jobs that are among them, and never itself over others."""
    needs = _direct(jobs)
    columns, chains = _columns(jobs, needs)
    _order(columns)
    _place(columns)
    slots = [slot for column in columns for slot in column]
    top = min((slot.y for slot in slots), default=0.0)
    for slot in slots:
        slot.y += _MARGIN - top
    return Graph(
        width=max(1, len(columns)) * (NODE_WIDTH + _COLUMN_GAP) - _COLUMN_GAP + 2 * _MARGIN,
        height=round(max((slot.y + slot.height for slot in slots), default=0.0)) + _MARGIN,
        nodes=tuple(GraphNode(slot.job, _left(slot.column), round(slot.y)) for slot in slots if slot.job is not None),
        lines=tuple(_line(chain) for chain in chains),
    )


def _direct(jobs: Sequence[GraphJob]) -> dict[str, tuple[str, ...]]:
    """Return what each job needs that is not implied by something else that it needs."""
    known = {job.id: job for job in jobs}
    above: dict[str, frozenset[str]] = {}
    for job in _from_the_top(known):
        named = [each for each in dict.fromkeys(job.needs) if each in known]
        above[job.id] = frozenset(named).union(*(above[each] for each in named))
    return {
        job.id: tuple(
            each
            for each in dict.fromkeys(job.needs)
            if each in known and not any(each in above[other] for other in job.needs if other in known)
        )
        for job in jobs
    }


def _from_the_top(known: Mapping[str, GraphJob]) -> Iterable[GraphJob]:
    """Yield jobs so that what a job needs comes before it."""
    done: set[str] = set()
    for start in known:
        waiting = [start]
        while waiting:
            job = known[waiting[-1]]
            missing = [each for each in job.needs if each in known and each not in done]
            if job.id in done or not missing:
                waiting.pop()
                if job.id not in done:
                    done.add(job.id)
                    yield job
            else:
                waiting += missing


def _columns(
    jobs: Sequence[GraphJob], needs: Mapping[str, tuple[str, ...]]
) -> tuple[list[list[_Slot]], list[list[_Slot]]]:
    """Return the slots by column, and for each line the slots that it passes."""
    depth: dict[str, int] = {}
    for job in _from_the_top({job.id: job for job in jobs}):
        depth[job.id] = max((depth[each] + 1 for each in needs[job.id]), default=0)
    slots = {job.id: _Slot(depth[job.id], job) for job in jobs}
    columns: list[list[_Slot]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for slot in slots.values():
        columns[slot.column].append(slot)
    chains: list[list[_Slot]] = []
    for job in jobs:
        for needed in needs[job.id]:
            chain = [slots[needed]]
            for column in range(depth[needed] + 1, depth[job.id]):
                lane = _Slot(column)
                columns[column].append(lane)
                chain.append(lane)
            chain.append(slots[job.id])
            for left, right in pairwise(chain):
                left.after.append(right)
                right.before.append(left)
            chains.append(chain)
    return columns, chains


def _order(columns: list[list[_Slot]]) -> None:
    for column in columns:
        for place, slot in enumerate(column):
            slot.order = place
    for sweep in range(_SWEEPS):
        forwards = sweep % 2 == 0
        for column in columns if forwards else reversed(columns):
            wishes = {
                id(slot): _mean([each.order for each in (slot.before if forwards else slot.after)], slot.order)
                for slot in column
            }
            column.sort(key=lambda slot: (wishes[id(slot)], slot.order))
            for place, slot in enumerate(column):
                slot.order = place


def _place(columns: list[list[_Slot]]) -> None:
    """Give each slot a height: as near to the middle of what it needs as its neighbours in the column allow."""
    for column in columns:
        wishes = [_mean([each.middle for each in slot.before], 0.0) - slot.height / 2 for slot in column]
        bottom = None
        for slot, wish in zip(column, wishes, strict=True):
            slot.y = wish if bottom is None else max(wish, bottom + _ROW_GAP)
            bottom = slot.y + slot.height
        # Pushed down by those above it, a column would hang low: move the whole of it back to where it wants to be.
        drift = _mean([slot.y - wish for slot, wish in zip(column, wishes, strict=True)], 0.0)
        for slot in column:
            slot.y -= drift


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _left(column: int) -> int:
    return _MARGIN + column * (NODE_WIDTH + _COLUMN_GAP)


def _line(chain: list[_Slot]) -> str:
    """Return the path of a line: curves between the columns, straight through its lanes."""
    half = _COLUMN_GAP // 2
    x, y = _left(chain[0].column) + NODE_WIDTH, round(chain[0].middle)
    parts = [f"M{x} {y}"]
    for slot in chain[1:]:
        end, level = _left(slot.column), round(slot.middle)
        parts.append(f"H{end}" if level == y else f"C{x + half} {y} {end - half} {level} {end} {level}")
        x, y = end, level
        if slot.job is None:
            x += NODE_WIDTH
            parts.append(f"H{x}")
    return "".join(parts)
