"""Evaluates what GitHub evaluated and compares the answers."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from ostler.expr.errors import ExpressionError
from ostler.expr.evaluation import Scope, evaluate
from ostler.expr.functions import Function
from ostler.expr.parser import parse
from ostler.expr.values import ARRAY, NUMBER, OBJECT, Value, kind
from tests.oracles.expressions.differences import Case, explain
from tests.oracles.expressions.generator import batches
from tests.oracles.expressions.github import Spelled, ask
from tests.parts.oracles import Oracles

FUNCTIONS: Mapping[str, Function] = {
    "success": lambda _: True,
    "failure": lambda _: False,
    "always": lambda _: True,
    "cancelled": lambda _: False,
}

_TOGETHER = 10_000


class Report(NamedTuple):
    """What came of a comparison."""

    asked: int
    kinds: Counter[str]
    """How many answers of GitHub were of each type, errors included."""
    explained: Counter[str]
    unexplained: list[Case]


def compare(oracles: Oracles, seed: int, count: int) -> Report:
    """Compare so many random expressions."""
    report = Report(count, Counter(), Counter(), [])
    for part, begin in enumerate(range(0, count, _TOGETHER)):
        asked = batches(seed * 1_000_003 + part, min(_TOGETHER, count - begin))
        for batch, answers in zip(asked, ask(oracles, asked), strict=True):
            scope = Scope(batch.contexts, FUNCTIONS)
            for text, theirs in zip(batch.texts, answers, strict=True):
                report.kinds[str(theirs[0])] += 1
                for case in _differing(text, scope, theirs):
                    reason = explain(case)
                    report.explained.update([reason] if reason else [])
                    report.unexplained.extend([] if reason else [case])
    return report


def _differing(text: str, scope: Scope, theirs: Spelled) -> Iterator[Case]:
    error: Exception | None = None
    ours: Spelled
    try:
        ours = spelled(evaluate(parse(text), scope))
    except ExpressionError as refused:
        ours, error = ["error", refused.message], refused
    if not same(ours, theirs):
        yield Case(text, ours, error, theirs)


def spelled(value: Value) -> Spelled:
    """Return a value with its type, as GitHub's answers are written."""
    sort = kind(value)
    if sort == ARRAY:
        return ["array", [spelled(item) for item in cast("Sequence[Value]", value)]]
    if sort == OBJECT:
        return ["object", [[key, spelled(item)] for key, item in cast("Mapping[str, Value]", value).items()]]
    if value is None:
        return ["null"]
    if sort == NUMBER:
        return ["number", repr(float(cast("float", value)))]
    return ["boolean" if isinstance(value, bool) else "string", value]


def same(ours: Spelled, theirs: Spelled) -> bool:
    """Whether type and value agree; for errors, that both are errors."""
    if ours[0] != theirs[0]:
        return False
    match ours[0]:
        case "error" | "null":
            return True
        case "number":
            left, right = float(str(ours[1])), float(str(theirs[1]))
            return left == right or (math.isnan(left) and math.isnan(right))
        case "array":
            lefts, rights = cast("list[Spelled]", ours[1]), cast("list[Spelled]", theirs[1])
            return len(lefts) == len(rights) and all(map(same, lefts, rights))
        case "object":
            left_pairs = cast("list[tuple[str, Spelled]]", ours[1])
            right_pairs = cast("list[tuple[str, Spelled]]", theirs[1])
            return len(left_pairs) == len(right_pairs) and all(
                key == other and same(value, item)
                for (key, value), (other, item) in zip(left_pairs, right_pairs, strict=True)
            )
        case _:
            return ours[1] == theirs[1]
