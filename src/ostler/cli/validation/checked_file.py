"""One file and what was found in it."""

from typing import NamedTuple

from ostler.cli.validation.discovery import Candidate
from ostler.workflow.check import check_action, check_workflow
from ostler.workflow.findings import Finding


class CheckedFile(NamedTuple):
    """What was found in one file, in the order of its lines."""

    path: str
    lines: list[str]
    findings: tuple[Finding, ...]


def check_file(candidate: Candidate) -> CheckedFile:
    """Check a workflow or an action. Within a repository it is known by its path from the top."""
    shown = candidate.path.as_posix()
    name = shown
    if candidate.repository is not None:
        name = candidate.path.absolute().relative_to(candidate.repository.root).as_posix()
    check = check_action if candidate.kind == "action" else check_workflow
    checked = check(name, candidate.content, candidate.repository)
    return CheckedFile(shown, checked.document.text.split("\n"), checked.findings)
