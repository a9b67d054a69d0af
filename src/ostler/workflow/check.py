"""Whether a workflow file is right: reading, the shape of every value, then what the values mean together."""

from typing import Literal

import msgspec

from ostler.workflow.action_builder import build_action
from ostler.workflow.action_model import Action
from ostler.workflow.builder import build
from ostler.workflow.checks.passes import PASSES
from ostler.workflow.checks.sheet import Files, sheet
from ostler.workflow.findings import Finding, Span
from ostler.workflow.language.metadata import METADATA
from ostler.workflow.language.root import ROOT
from ostler.workflow.language.shapes import Table
from ostler.workflow.model import Workflow
from ostler.workflow.nodes import MappingNode, ScalarNode
from ostler.workflow.reader import Document, read
from ostler.workflow.structure import walk

_START = Span(1, 1, 1, 2)


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in a file, in the order of its lines, and the workflow if there is no error among it."""

    document: Document
    findings: tuple[Finding, ...]
    workflow: Workflow | None = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Return what keeps the file from running."""
        return errors_of(self.findings)


class CheckedAction(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in the metadata of an action, and the action if there is no error among it."""

    document: Document
    findings: tuple[Finding, ...]
    action: Action | None = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Return what keeps the action from running."""
        return errors_of(self.findings)


def errors_of(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return what keeps a file from being used."""
    return tuple(finding for finding in findings if finding.severity == "error")


def check_workflow(path: str, text: str | bytes, files: Files | None = None) -> Checked:
    """Check one workflow file. The path is only a name, unless the files of its repository are at hand."""
    document = read(path, _bytes(text))
    expected = "A workflow has at least the keys `on` and `jobs`."
    findings = _ordered(_findings("workflow", document, ROOT, expected, files))
    workflow = None if errors_of(findings) else build(path, document.root)
    return Checked(document=document, findings=findings, workflow=workflow)


def check_action(path: str, text: str | bytes, files: Files | None = None) -> CheckedAction:
    """Check the metadata of one action. The path is only a name, unless the files of its repository are at hand."""
    document = read(path, _bytes(text))
    expected = "An action has `name`, `description` and `runs`."
    findings = _ordered(_findings("action", document, METADATA, expected, files))
    action = None if errors_of(findings) else build_action(path, document.root)
    return CheckedAction(document=document, findings=findings, action=action)


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _findings(
    kind: Literal["workflow", "action"], document: Document, shape: Table, expected: str, files: Files | None
) -> list[Finding]:
    findings = list(document.findings)
    root = document.root
    if root is None or (isinstance(root, ScalarNode) and root.value is None):
        return findings or [Finding("empty-file", "the file is empty", _START, expected)]
    walked = walk(root, shape)
    findings += walked.findings
    if isinstance(root, MappingNode):
        page = sheet(document.path, kind, document.text, root, walked.sites, files)
        findings += (finding for check in PASSES for finding in check(page))
    return findings


def _ordered(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: (finding.span, finding.rule)))
