"""A scenario: a folder with a workflow, how it is run, and what must come of it. Each proves one documented behaviour.

``scenario.yaml`` is about the scenario; every other file of the folder is laid out as a repository. What a scenario
does not mention is not looked at, but for the exit code, which is 0 unless it says otherwise.
"""

from pathlib import Path
from typing import Any

import msgspec
import yaml

FOLDER = Path(__file__).parent / "scenarios"
FILE = "scenario.yaml"


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must come of it. Jobs are named by their ids, steps by theirs or, without one, by their names."""

    exit: int = 0
    error: list[str] = []
    """Parts of the error that keeps it from running."""
    findings: list[str] = []
    """Parts of what is said of the file, which is then not run."""
    anywhere: list[str] = []
    """Parts of whatever is told: errors, findings, notes, notices, logs and annotations."""
    workflows: list[str] | None = None
    """The files that run, in this order."""
    name: str = ""
    """Of the run."""
    jobs: dict[str, str] | None = None
    """All jobs with their conclusions."""
    names: dict[str, str] | None = None
    """All jobs with the names that people see."""
    steps: dict[str, dict[str, str]] = {}
    """Conclusions, or ``outcome>conclusion``."""
    codes: dict[str, dict[str, int]] = {}
    """Exit codes of steps."""
    outputs: dict[str, dict[str, str]] = {}
    """All outputs of a job."""
    log: dict[str, list[str]] = {}
    """Whole lines that are in the log of a job, in this order."""
    lacks: dict[str, list[str]] = {}
    """Whole lines that are not."""
    shows: dict[str, list[str]] = {}
    """Parts of lines that are."""
    hides: dict[str, list[str]] = {}
    """Texts that are nowhere in the log."""
    counts: dict[str, dict[str, int]] = {}
    """How many lines match a pattern wholly."""
    order: list[str] = []
    """Lines of any job, in this order."""
    annotations: dict[str, list[dict[str, Any]]] = {}
    """All annotations of a job; fields that are not mentioned may be anything."""
    summary: dict[str, list[str]] = {}
    """The lines of the summaries of a job, all of them."""
    notices: list[str] = []
    """Parts of what is told about the run as a whole."""
    artifacts: dict[str, dict[str, str]] | None = None
    """All artifacts with their files."""


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One scenario; ``docs`` names the page of GitHub's documentation, and its section, that says so."""

    about: str
    docs: str
    expected: Expected
    run: tuple[str, ...] = ("workflow.yml",)
    """What follows ``ostler run``; ``{scenario}`` stands for the folder in which it is laid out."""
    env: dict[str, str] = {}
    """Of whoever runs it."""
    git: str = ""
    """The branch, if the folder is a git repository."""
    remote: str = ""
    """Where it was cloned from."""
    uncommitted: dict[str, str] = {}
    """Files that are written after the commit."""
    node: bool = False
    """Whether it needs a Node on this machine."""


def names() -> list[str]:
    """Every scenario there is."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{FILE}"))


def load(name: str) -> Scenario:
    """Read a scenario; a key that nothing reads is a mistake."""
    return msgspec.convert(yaml.safe_load((FOLDER / name / FILE).read_text(encoding="utf-8")), Scenario)
