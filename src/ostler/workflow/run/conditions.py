"""What the status functions say of the jobs before one, and why one was skipped.

They look at all jobs that one needs, also through others: a job that was skipped far above makes ``success()`` false.
"""

from ostler.workflow.run.book import FAILURE, Book
from ostler.workflow.run.evaluation import Status
from ostler.workflow.run.state import Node


def status(book: Book, node: Node, *, cancelling: bool) -> Status:
    """Return what the status functions answer for a job."""
    flaws = book.flaws_before(node)
    return Status(success=not flaws and not cancelling, failure=bool(flaws & FAILURE), cancelled=cancelling)


_WORDS = {"failure": "failed", "cancelled": "was cancelled", "skipped": "was skipped"}


def why_skipped(book: Book, node: Node) -> str:
    """Return to people why a condition was not met, as far as the jobs before it explain that."""
    for parent in node.parents:
        before = book.nodes[parent]
        if before.conclusion in _WORDS:
            return f"{before.name} {_WORDS[before.conclusion]}"
    return "a job before it did not succeed" if book.flaws_before(node) else "its condition is not met"
