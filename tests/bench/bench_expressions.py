"""Expressions: a step has several, so parsing and evaluating them must be nothing beside starting its process."""

from timeit import Timer

from ostler.expr.evaluation import Scope, evaluate
from ostler.expr.parser import parse
from ostler.expr.values import Value
from tests.bench.context import Context
from tests.bench.figure import Figure, absolute

GOALS = ("5.4",)

_TYPICAL = (
    "github.event_name == 'push' && github.ref == 'refs/heads/main'",
    "contains(github.event.pull_request.labels.*.name, 'ready')",
    "format('{0}-{1}-{2}', matrix.os, matrix.version, github.ref)",
    "always() && (needs.build.result == 'success' || needs.build.result == 'skipped')",
)
_CONTEXTS: dict[str, Value] = {
    "github": {
        "event_name": "push",
        "ref": "refs/heads/main",
        "event": {"pull_request": {"labels": [{"name": "bug"}, {"name": "ui"}, {"name": "ready"}]}},
    },
    "matrix": {"os": "ubuntu-latest", "version": 3.11},
    "needs": {"build": {"result": "skipped", "outputs": {}}},
}


async def measure(context: Context) -> list[Figure]:
    scope = Scope(_CONTEXTS, {"always": lambda _: True})
    nodes = [parse(text) for text in _TYPICAL]
    times = context.scaled(20_000, quick=500)

    def parsed() -> None:
        for text in _TYPICAL:
            parse(text)

    def evaluated() -> None:
        for node in nodes:
            evaluate(node, scope)

    def mean(timer: Timer, repeats: int) -> float:
        """The best of ten parts: whoever else uses the processor can only make it slower."""
        part = repeats // 10
        return min(timer.repeat(10, part)) / part / len(_TYPICAL) * 1e6

    evaluation = await context.repeat(lambda: mean(Timer(evaluated), times))
    parsing = await context.repeat(lambda: mean(Timer(parsed), times // 4))
    return [
        absolute("5.4", "evaluate a typical expression, mean of four", evaluation, "us", at_most=10),
        absolute("5.4", "parse it", parsing, "us", at_most=50),
    ]
