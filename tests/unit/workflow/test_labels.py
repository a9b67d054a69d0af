"""Labels: slips of the finger are seen, and labels of one's own are left alone."""

import pytest

from ostler.workflow.check import check_workflow
from ostler.workflow.findings import Finding


def _findings(runs_on: str) -> tuple[Finding, ...]:
    return check_workflow("ci.yml", f"on: push\njobs: {{a: {{runs-on: {runs_on}, steps: [{{run: make}}]}}}}\n").findings


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        ("ubuntu-lastest", "ubuntu-latest"),
        ("ubuntu-latset", "ubuntu-latest"),
        ("macos-lates", "macos-latest"),
        ("Windows-latst", "windows-latest"),
        ("ubunut-latest", "ubuntu-latest"),
        ("window-latest", "windows-latest"),
        ("selfhosted", "self-hosted"),
    ],
)
def test_slips_are_seen(label: str, meant: str) -> None:
    """With the label that was meant."""
    (finding,) = _findings(label)
    assert (finding.rule, finding.fix) == ("label-misspelt", f"Did you mean {meant!r}?")


@pytest.mark.parametrize(
    "runs_on",
    [
        "ubuntu-test",
        "ubuntu-fast",
        "ubuntu-large",
        "ubuntu-latest-16-cores",
        "ubuntu-99.04",
        "windows-lts",
        "linux-latest",
        "latest",
        "gpu",
        "[self-hosted, linux, x64]",
        "[self-hosted, ubuntu-custom, linux]",
        "'${{ vars.RUNNER }}'",
        "{group: large, labels: [gpu]}",
        "{group: organization/large}",
    ],
)
def test_labels_of_ones_own_are_left_alone(runs_on: str) -> None:
    """Any label may exist."""
    assert _findings(runs_on) == ()


def test_labels_of_several_systems() -> None:
    """A runner must have all labels."""
    (finding,) = _findings("[ubuntu-latest, windows-latest]")
    assert finding.rule == "label-conflict"
    assert "of Linux and of Windows" in finding.message
