"""``if``: conditions that cannot be what they look like, because text makes them true or nothing in them varies."""

from collections.abc import Iterator

from ostler.expr.nodes import Call, Literal, Name, walk
from ostler.workflow.checks.formulas import Formula
from ostler.workflow.checks.sheet import Sheet
from ostler.workflow.findings import Finding
from ostler.workflow.structure import OPENS


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check every condition."""
    for formula in sheet.formulas:
        if formula.site.condition and formula.error is None and formula.nodes:
            yield from _condition(formula)


def _condition(formula: Formula) -> Iterator[Finding]:
    node = formula.site.node
    if formula.around:
        what = "text" if formula.around.strip() else "a blank or line break"
        message = f"there is {what} around ${{{{ }}}}, so the condition is a text, which is always true"
        fix = "Put all of it into one ${{ }}, or leave ${{ }} out."
        if not formula.around.strip() and node.style in ("|", ">"):
            fix = f"Write '{node.style}-' instead of '{node.style}', or leave ${{{{ }}}} out."
        yield Finding("if-always", message, node.span, fix, "warning")
        return
    expression = formula.nodes[0]
    if any(isinstance(part, Name | Call) for part in walk(expression)):
        return
    if isinstance(expression, Literal) and isinstance(expression.value, str) and expression.value:
        message = f"the text {expression.value[:40]!r} is always true"
        yield Finding("if-always", message, node.span, "Write an expression without quotes.", "warning")
    else:
        shown = "" if OPENS in node.text else f" {node.text.strip()[:40]!r}"
        yield Finding("if-constant", f"the condition{shown} never changes", node.span, severity="hint")
