"""What is said of small files that were written from the documentation: neither too little nor too much."""

import pytest

from ostler.workflow.check import check_action, check_workflow
from tests.oracles.workflows.corpus import Sample, samples

_SAMPLES = samples()
_EXPECTED = {"valid": "nothing", "actions": "nothing", "suspicious": "warning", "invalid": "error"}


def test_there_are_enough_of_them() -> None:
    """Of each kind."""
    assert len(_SAMPLES) >= 280


@pytest.mark.parametrize("sample", _SAMPLES, ids=[sample.name for sample in _SAMPLES])
def test_each_gets_the_verdict_of_its_folder(sample: Sample) -> None:
    """Hints may be given to any."""
    check = check_action if sample.kind == "action" else check_workflow
    findings = check(sample.name, sample.content).findings
    severities = {finding.severity for finding in findings} - {"hint"}
    worst = "error" if "error" in severities else "warning" if severities else "nothing"
    assert worst == _EXPECTED[sample.folder], findings
