"""Expressions give what GitHub's own evaluator gives; ``python -m tests.oracles.expressions`` asks for more."""

import pytest

from tests.oracles.expressions.comparison import compare
from tests.parts.errors import PartMissing
from tests.parts.oracles import find_oracles

_SEED = 20
_COUNT = 5_000


def test_random_expressions_give_what_github_gives() -> None:
    try:
        oracles = find_oracles()
    except PartMissing as missing:
        pytest.skip(str(missing))
    report = compare(oracles, _SEED, _COUNT)
    assert not report.unexplained, f"the first of {len(report.unexplained)}: {report.unexplained[0]}"
    assert min(report.kinds.values()) > _COUNT / 50, f"some kind of value hardly occurs: {report.kinds}"
    assert report.explained.total() < _COUNT / 1000, f"much is explained away: {report.explained}"
