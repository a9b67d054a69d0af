"""The places of a matrix with ``max-parallel``: who has one, and who is next."""

from collections import deque
from collections.abc import Iterator

from ostler.workflow.run.book import Book
from ostler.workflow.run.state import Node, NodeState


class Places:
    """Of each matrix, the jobs that have a place, and in their order those that want one."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._taken: dict[str, set[str]] = {}
        self._waiting: dict[str, deque[str]] = {}

    def take(self, matrix_id: str) -> Iterator[str]:
        """Give places to those who are next, while there are any."""
        if matrix_id not in self._waiting:
            self._survey(matrix_id)
        most = self._book.nodes[matrix_id].max_parallel
        waiting, taken = self._waiting[matrix_id], self._taken[matrix_id]
        while waiting and (not most or len(taken) < most):
            cell = waiting.popleft()
            if self._book.nodes[cell].state is NodeState.PENDING:
                taken.add(cell)
                yield cell

    def give_back(self, cell_id: str) -> None:
        """Take note that a job needs its place no more."""
        matrix_id = self._book.nodes[cell_id].parent
        if matrix_id not in self._taken:
            self._survey(matrix_id)
        self._taken[matrix_id].discard(cell_id)

    def _survey(self, matrix_id: str) -> None:
        cells = [self._book.nodes[cell] for cell in self._book.children.get(matrix_id, ())]
        self._waiting[matrix_id] = deque(cell.id for cell in cells if _wants_place(cell))
        self._taken[matrix_id] = {
            cell.id for cell in cells if cell.state is not NodeState.ENDED and not _wants_place(cell)
        }


def _wants_place(cell: Node) -> bool:
    """One that waits for a concurrency group has its place already."""
    return cell.state is NodeState.PENDING and not cell.group and not cell.inner_group
