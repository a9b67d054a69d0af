"""Expressions: their syntax, the contexts and functions that their place knows, and what their types tell."""

import re
from collections.abc import Iterator
from typing import Final

from ostler.expr.errors import ExpressionError, UnknownFunction, UnknownName, WrongArgumentCount
from ostler.expr.functions import SIGNATURES, Signature
from ostler.expr.json_text import from_json
from ostler.expr.names import name_errors
from ostler.expr.nodes import Call, Literal, Node, mentions
from ostler.workflow.checks.contexts import Contexts
from ostler.workflow.checks.formulas import Formula
from ostler.workflow.checks.inference import Inference
from ostler.workflow.checks.sheet import Sheet
from ostler.workflow.checks.types import Listing, Structure
from ostler.workflow.findings import Finding, Severity, Span
from ostler.workflow.language.contexts import CONTEXTS
from ostler.workflow.language.scopes import Scope
from ostler.workflow.places import span_within
from ostler.workflow.structure import Path

_TEXT_KEYS: Final = ("run", "name", "run-name", "working-directory", "group")
_TEXT_TABLES: Final = ("env", "outputs")
_FIELD: Final = re.compile(r"\{\{|\}\}|\{(\d+)\}")
_JOB_IF: Final = 3
"""How long the path of the condition of a job is."""
_IN_CONDITIONS_OF_JOBS: Final = {
    **SIGNATURES,
    **{key: Signature(key, 0, 255) for key in ("success", "failure")},
}
"""There, both may name the jobs that they look at."""
_RULES: Final[dict[type[ExpressionError], str]] = {
    UnknownName: "expression-context",
    UnknownFunction: "expression-function",
    WrongArgumentCount: "expression-arguments",
}


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check every expression."""
    contexts = Contexts(sheet)
    for formula in sheet.formulas:
        yield from _Place(sheet, formula, contexts).findings()


class _Place:
    """One place with expressions."""

    def __init__(self, sheet: Sheet, formula: Formula, contexts: Contexts) -> None:
        self._source = sheet.source
        self._formula = formula
        self._contexts = contexts
        self._found: list[Finding] = []

    def findings(self) -> list[Finding]:
        site, error = self._formula.site, self._formula.error
        if error is not None:
            expected = f"; expected {error.expected}" if error.expected else ""
            start, end = max(error.start, 0), max(error.end, error.start, 0)
            message = f"{error.message}{expected}"
            self._found.append(Finding("expression-syntax", message, self._span(start, end), error.fix))
            return self._found
        for node in self._formula.nodes:
            if self._names(node, site.scope, site.path):
                self._types(node, site.path)
        return self._found

    def _span(self, start: int, end: int) -> Span:
        return span_within(self._formula.site.node, self._source, start, end)

    def _report(self, rule: str, message: str, node: Node, fix: str, severity: Severity = "error") -> None:
        self._found.append(Finding(rule, message, self._span(node.start, node.end), fix, severity))

    def _warn(self, rule: str, message: str, node: Node, fix: str) -> None:
        self._report(rule, message, node, fix, "warning")

    def _names(self, node: Node, scope: Scope, path: Path) -> bool:
        """Check that all names are known here, even those that are never evaluated."""
        functions = {name.lower() for name in scope.functions}
        signatures = _IN_CONDITIONS_OF_JOBS if len(path) == _JOB_IF and path[0] == "jobs" else SIGNATURES
        before = len(self._found)
        for error in name_errors(node, scope.contexts, functions, signatures):
            message, fix = error.message, error.fix or (f"It is {error.expected}." if error.expected else "")
            name = self._formula.site.node.text[error.start : error.end]
            if isinstance(error, UnknownName) and name.lower() in CONTEXTS:
                message = f"the context {name!r} is not available here"
                fix = f"Available are {', '.join(sorted(scope.contexts))}."
            self._found.append(Finding(_RULES[type(error)], message, self._span(error.start, error.end), fix))
        for call in mentions(node)[1]:
            if call.key == "format" and call.arguments:
                self._format(call)
            elif call.key == "fromjson" and call.arguments:
                self._json(call.arguments[0])
        return len(self._found) == before

    def _format(self, call: Call) -> None:
        pattern = call.arguments[0]
        if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
            return
        fields = [int(found[1]) for found in _FIELD.finditer(pattern.value) if found[1] is not None]
        given = len(call.arguments) - 1
        if any(field >= given for field in fields):
            message = (
                f"the format asks for {{{max(fields)}}}, and there {'is' if given == 1 else 'are'} {given} to fill in"
            )
            self._report("expression-format", message, pattern, "The first one is {0}; write {{ for a brace.")

    def _json(self, text: Node) -> None:
        if isinstance(text, Literal) and isinstance(text.value, str):
            try:
                from_json(text.value)
            except ExpressionError as error:
                self._report("expression-json", error.message, text, "Names and texts stand in double quotes.")

    def _types(self, node: Node, path: Path) -> None:
        inference = Inference(lambda name: self._contexts.get(name, path), self._warn)
        type_ = inference.type_of(node)
        if isinstance(type_, Structure | Listing) and self._is_text(path):
            what = "a list" if isinstance(type_, Listing) else "an object"
            shown = "Array" if isinstance(type_, Listing) else "Object"
            message = f"this is {what}, of which only the word {shown!r} arrives in a text"
            self._warn("expression-object", message, node, "Write toJSON(…) around it, or take a property.")

    def _is_text(self, path: Path) -> bool:
        """Whether the value becomes text in any case."""
        if self._formula.site.condition:
            return False
        if self._formula.around or len(self._formula.nodes) > 1 or path[-1] in _TEXT_KEYS:
            return True
        table = path[-2] if len(path) > 1 else ""
        return table in _TEXT_TABLES or (table == "with" and "steps" in path)
