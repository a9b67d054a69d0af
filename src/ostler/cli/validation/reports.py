"""Findings as text with the line and a caret, as JSON, and as SARIF."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from ostler import __version__
from ostler.cli import output
from ostler.cli.validation.checked_file import CheckedFile
from ostler.workflow.findings import Finding, Severity
from ostler.workflow.rules import RULES

_WIDEST: Final = 160
_LEVELS: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "hint": "note"}
_SARIF: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


def text(file: CheckedFile) -> str:
    """Return one block a finding: what and where, the line with a caret, and the fix."""
    return "".join(_block(file, finding) for finding in file.findings)


def summary(files: Sequence[CheckedFile]) -> str:
    """Return how many findings there are, in one line."""
    counts = [
        output.count(number, severity)
        for severity in ("error", "warning", "hint")
        if (number := sum(finding.severity == severity for file in files for finding in file.findings))
    ]
    return f"{output.count(len(files), 'file')} checked: {', '.join(counts) or 'nothing found'}"


def as_json(value: object) -> str:
    """Return a value as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def document(files: Sequence[CheckedFile]) -> dict[str, object]:
    """Return all findings as data."""
    return {
        "files": [file.path for file in files],
        "findings": [
            {
                "path": file.path,
                "line": finding.span.line,
                "column": finding.span.column,
                "end_line": finding.span.end_line,
                "end_column": finding.span.end_column,
                "severity": finding.severity,
                "rule": finding.rule,
                "message": finding.message,
                "fix": finding.fix,
            }
            for file in files
            for finding in file.findings
        ],
    }


def sarif(files: Sequence[CheckedFile]) -> dict[str, object]:
    """Return all findings as a SARIF log, of which code scanning makes annotations."""
    names = sorted({finding.rule for file in files for finding in file.findings})
    rules = [{"id": name, "shortDescription": {"text": RULES[name]}} for name in names]
    driver = {"name": "ostler validate", "version": __version__, "rules": rules}
    results = [_result(file, finding, names) for file in files for finding in file.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}


def _result(file: CheckedFile, finding: Finding, names: Sequence[str]) -> dict[str, object]:
    span = finding.span
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    uri = quote(file.path) if not file.path.startswith("/") else f"file://{quote(file.path)}"
    return {
        "ruleId": finding.rule,
        "ruleIndex": names.index(finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}. {finding.fix}" if finding.fix else finding.message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
    }


def _block(file: CheckedFile, finding: Finding) -> str:
    span = finding.span
    severity = "" if finding.severity == "error" else f"{finding.severity}: "
    place = f"{output.shown(file.path)}:{span.line}:{span.column}"
    block = f"{place}: {severity}{output.shown(finding.message)} [{finding.rule}]\n"
    if span.line <= len(file.lines) and file.lines[span.line - 1].strip():
        block += _excerpt(file.lines[span.line - 1].rstrip("\r"), finding)
    return f"{block}    fix: {output.shown(finding.fix)}\n" if finding.fix else block


def _excerpt(line: str, finding: Finding) -> str:
    """Return the line with a caret below the place; of a long line the part around it."""
    start = finding.span.column - 1
    end = finding.span.end_column - 1 if finding.span.end_line == finding.span.line else len(line)
    left = max(0, min(start - _WIDEST // 2, len(line) - _WIDEST)) if len(line) > _WIDEST else 0
    before, marked = line[left:start], line[start : min(max(end, start + 1), left + _WIDEST)]
    after = line[start + len(marked) : left + _WIDEST]
    shown = "".join(output.shown(part.replace("\t", " ")) for part in (before, marked, after))
    indent = " " * output.columns(output.shown(before.replace("\t", " ")))
    tail = "~" * (max(1, output.columns(output.shown(marked.replace("\t", " ")))) - 1)
    return f"    {shown}\n    {indent}^{tail}\n"
