"""Files are refused that GitHub's own parser refuses; ``python -m tests.oracles.workflows`` asks for more."""

from random import Random

import pytest

from tests.oracles.workflows.comparison import compare
from tests.oracles.workflows.corpus import samples, scenarios
from tests.oracles.workflows.mutation import mutations
from tests.parts.errors import PartMissing
from tests.parts.oracles import Oracles, find_oracles

_SEED = 20
_COUNT = 1_500


@pytest.fixture(scope="module")
def oracles() -> Oracles:
    try:
        return find_oracles()
    except PartMissing as missing:
        pytest.skip(str(missing))


def test_the_corpus_and_all_scenarios_get_the_same_verdict(oracles: Oracles) -> None:
    report = compare(oracles, [*samples(), *scenarios()])
    assert not report.unexplained, f"the first of {len(report.unexplained)}: {report.unexplained[0]}"


def test_altered_files_get_the_same_verdict(oracles: Oracles) -> None:
    bases = [sample for sample in samples() if sample.folder in ("valid", "actions")]
    report = compare(oracles, list(mutations(bases, Random(_SEED), _COUNT)))
    assert not report.unexplained, f"the first of {len(report.unexplained)}: {report.unexplained[0]}"
    assert min(report.verdicts.values()) > _COUNT / 10, f"hardly any file is of one kind: {report.verdicts}"
