"""Compares the verdicts of Ostler and of GitHub's parser on many files."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ostler.workflow.check import check_action, check_workflow
from tests.oracles.workflows.corpus import Sample
from tests.oracles.workflows.differences import explained_beyond, explained_parser
from tests.oracles.workflows.github import ask
from tests.parts.oracles import Oracles


class Difference(NamedTuple):
    """A file on which the two disagree."""

    sample: Sample
    ours: tuple[str, ...]
    theirs: list[str]


class Report(NamedTuple):
    """What came of a comparison."""

    verdicts: Counter[str]
    explained: int
    unexplained: list[Difference]


def compare(oracles: Oracles, files: Sequence[Sample]) -> Report:
    """Ask both about each file."""
    verdicts: Counter[str] = Counter()
    explained, unexplained = 0, list[Difference]()
    for file, theirs in zip(files, ask(oracles, files), strict=True):
        check = check_action if file.kind == "action" else check_workflow
        errors = check(file.name, file.content).errors
        verdicts["refused" if errors else "accepted"] += 1
        if bool(errors) == bool(theirs):
            continue
        rules = {finding.rule for finding in errors}
        if explained_beyond(rules) if errors else explained_parser(file.kind, theirs):
            explained += 1
        else:
            told = tuple(f"{finding.span.line}: {finding.message} [{finding.rule}]" for finding in errors)
            unexplained.append(Difference(file, told, theirs))
    return Report(verdicts, explained, unexplained)
