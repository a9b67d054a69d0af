"""The schemas for editors say yes to what the checks let through, and no to what has the wrong shape."""

from typing import cast

import pytest
from jsonschema import Draft7Validator

from ostler.workflow import plain
from ostler.workflow.check import check_action, check_workflow
from ostler.workflow.language.metadata import METADATA
from ostler.workflow.language.root import ROOT
from ostler.workflow.nodes import Node
from ostler.workflow.reader import read
from ostler.workflow.schema import SCHEMAS
from ostler.workflow.structure import walk
from tests.oracles.workflows.corpus import Sample, samples

_VALIDATORS = {kind: Draft7Validator(make()) for kind, make in SCHEMAS.items()}
_SHAPES = {"workflow": ROOT, "action": METADATA}
# A key that has no effect where it stands: it keeps no file from running, and an editor does well to complain of it.
_SAID_ALL_THE_SAME = {
    "suspicious/on-create-with-tags",
    "suspicious/on-filter-for-other-event",
    "suspicious/on-push-types",
}
_RIGHT = [
    sample
    for sample in samples()
    if sample.folder != "invalid" and sample.name.removesuffix(".yml") not in _SAID_ALL_THE_SAME
]
_WRONG = [sample for sample in samples() if sample.folder == "invalid"]
# Rules of the first pass that a schema cannot say: keys without case, and expressions by their place.
_UNSAID = {"duplicate-key", "expression-place", "conflicting-keys"}


def _complaints(sample: Sample) -> list[str]:
    value = plain.value(cast("Node", read(sample.name, sample.content.encode()).root))
    validator = _VALIDATORS[sample.kind]
    return [error.message for error in validator.iter_errors(value)]  # pyright: ignore[reportArgumentType, reportUnknownMemberType, reportUnknownVariableType]


def test_schemas_are_schemas() -> None:
    """Of the dialect that they name."""
    for make in SCHEMAS.values():
        Draft7Validator.check_schema(make())


@pytest.mark.parametrize("sample", _RIGHT, ids=[sample.name for sample in _RIGHT])
def test_right_files_fit(sample: Sample) -> None:
    """An editor must not complain of them."""
    assert _complaints(sample) == []


@pytest.mark.parametrize("sample", _WRONG, ids=[sample.name for sample in _WRONG])
def test_files_of_the_wrong_shape_do_not_fit(sample: Sample) -> None:
    """What the first pass finds, an editor shows while it is written."""
    document = read(sample.name, sample.content.encode())
    if document.root is None or document.findings:
        return
    found = {finding.rule for finding in walk(document.root, _SHAPES[sample.kind]).findings}
    if found - _UNSAID:
        assert _complaints(sample), found


def test_keys_are_described() -> None:
    """Editors show it beside them."""
    definitions = cast("dict[str, dict[str, dict[str, dict[str, str]]]]", SCHEMAS["workflow"]()["definitions"])
    assert definitions["a-workflow"]["properties"]["on"]["description"] == "The events that start it."


def test_the_checks_take_text_and_bytes() -> None:
    """Whoever has a file need not decode it."""
    assert check_workflow("a.yml", "on: push").findings == check_workflow("a.yml", b"on: push").findings
    assert check_action("a.yml", "name: x").findings == check_action("a.yml", b"name: x").findings
