"""Where Ostler and GitHub's editor package differ on purpose; docs/reference/expressions.md tells users the same.

Everything else that differs is a defect.
"""

from collections.abc import Callable
from typing import NamedTuple

from ostler.expr.errors import ExpressionTooDeep, WrongArgument
from tests.oracles.expressions.github import Spelled


class Case(NamedTuple):
    """An expression on which the two disagree."""

    text: str
    ours: Spelled
    error: Exception | None
    theirs: Spelled


class Difference(NamedTuple):
    """A known reason for which answers differ."""

    reason: str
    applies: Callable[[Case], bool]


def _refused_format(case: Case) -> bool:
    return isinstance(case.error, WrongArgument) and "format" in case.error.message and case.theirs[0] != "error"


def _deep_tree(case: Case) -> bool:
    return isinstance(case.error, ExpressionTooDeep) and case.text.count("!") > 40 and case.theirs[0] != "error"


DIFFERENCES = (
    Difference("the runner refuses text after the number in {0…} of a format, the package ignores it", _refused_format),
    Difference("the runner counts each node on the way down, the package not the operator that follows !", _deep_tree),
)


def explain(case: Case) -> str:
    """Return the known reason for a difference; nothing if there is none."""
    return next((difference.reason for difference in DIFFERENCES if difference.applies(case)), "")
