"""Every rule has an example that breaks it, and no finding names a rule that is not in the list."""

import ast
from pathlib import Path

import pytest

from docs.generators.validate_rules import Example, examples
from ostler.workflow import checks
from ostler.workflow.check import check_action, check_workflow
from ostler.workflow.checks.sheet import FilesAtHand
from ostler.workflow.rules import RULES

_EXAMPLES = examples()
_PATH = ".github/workflows/ci.yml"
_CALLS_NEXT = "on: workflow_call\njobs: {{next: {{uses: ./.github/workflows/depth-{}.yml}}}}\n"


def _found(example: Example) -> set[str]:
    files = {f".github/workflows/depth-{at}.yml": _CALLS_NEXT.format(at + 1).encode() for at in range(1, 12)}
    files |= {_PATH: example.content(), ".github/workflows/other.yml": example.other.encode()}
    check = check_action if example.action else check_workflow
    name = "action.yml" if example.action else _PATH
    return {finding.rule for finding in check(name, example.content(), FilesAtHand(files)).findings}


def test_the_examples_are_those_of_the_rules() -> None:
    """In the order of the list, so that the page is found through."""
    assert list(_EXAMPLES) == list(RULES) == sorted(RULES)


@pytest.mark.parametrize("name", list(_EXAMPLES))
def test_each_example_breaks_its_rule(name: str) -> None:
    """And no other one that would distract from it."""
    assert _found(_EXAMPLES[name]) == {name}


def test_no_finding_names_an_unknown_rule() -> None:
    """Rules are literals in the source, so they can be looked up there."""
    folder = Path(checks.__file__).parents[1]
    named = {
        node.args[0].value
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and (getattr(node.func, "id", "") == "Finding" or getattr(node.func, "attr", "") in ("_report", "_warn"))
    }
    assert named
    assert named <= RULES.keys()
