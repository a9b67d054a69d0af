"""``ostler eval``: what an expression of a workflow is worth, without a workflow."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, cast
from unicodedata import combining, east_asian_width

import click

from ostler.actions.hashing import hash_files_below
from ostler.cli.contexts import read_contexts
from ostler.expr.errors import ExpressionError
from ostler.expr.evaluation import Scope, evaluate
from ostler.expr.functions import Function
from ostler.expr.json_text import quoted
from ostler.expr.parser import parse
from ostler.expr.templates import OPENS, Template
from ostler.expr.values import ARRAY, NUMBER, OBJECT, STRING, Value, as_number, as_text, kind

_CONTEXTS = (
    *("github", "env", "vars", "job", "jobs", "steps", "runner", "secrets", "strategy", "matrix", "needs", "inputs"),
)
_WHOLE_BELOW = 1e21
_CONTROL = dict.fromkeys((*range(32), *range(127, 160)), " ")


# `-1 < github.run_number` is an expression: neither unknown options nor an `h` among short ones.
@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("expression")
@click.option(
    "--context",
    "context_file",
    metavar="FILE",
    type=click.File("rb", lazy=False),
    help="JSON or YAML with the contexts by their names, such as {github: {ref: …}}; - is standard input.",
)
@click.pass_context
def eval(context: click.Context, expression: str, context_file: BinaryIO | None) -> None:  # noqa: A001 - its name
    """Print the value of EXPRESSION as JSON.

    The expression may stand in ${{ }} or not; text around ${{ }} makes the value a text. Every documented context is
    known and empty unless FILE gives it. The status functions go by job.status, steps and needs in FILE, and hashFiles
    looks for files below the current directory. An error is shown with its place and the exit code is 1.
    """
    given: Mapping[str, Value] = {} if context_file is None else read_contexts(context_file)
    try:
        value = _value(expression, _scope(given))
        text = _json(value)
    except ExpressionError as error:
        sys.stderr.write(_shown(error, expression))
        context.exit(1)
    sys.stdout.write(text + "\n")


def _value(expression: str, scope: Scope) -> Value:
    """Evaluate an expression, or a text with expressions in it."""
    start = len(expression) - len(expression.lstrip())
    if OPENS not in expression:
        return evaluate(parse(expression), scope)
    if expression.startswith(OPENS, start):
        blank = expression[:start]
        template = Template.parse(expression.rstrip())
        if not (blank and template.parts[0] == blank and len(template.parts) == 2):
            return template.value(scope)
        return Template(template.parts[1:]).value(scope)
    try:
        # In an expression ${{ can only stand within a string.
        node = parse(expression)
    except ExpressionError:
        return Template.parse(expression).value(scope)
    return evaluate(node, scope)


def _scope(given: Mapping[str, Value]) -> Scope:
    contexts: dict[str, Value] = {name: {} for name in _CONTEXTS}
    contexts.update((name.lower(), value) for name, value in given.items())
    status = _status(Scope(contexts))
    functions: dict[str, Function] = {
        "always": lambda _: True,
        "success": lambda _: status == "success",
        "failure": lambda _: status == "failure",
        "cancelled": lambda _: status == "cancelled",
        "hashfiles": _hash_files,
    }
    return Scope(contexts, functions)


def _status(scope: Scope) -> str:
    """Return how things went: as the job says, or as its steps and the jobs that it needs say together."""

    def found(text: str) -> list[str]:
        return [as_text(value).lower() for value in cast("list[Value]", evaluate(parse(text), scope))]

    if status := as_text(evaluate(parse("job.status"), scope)).lower():
        return status
    results = found("needs.*.result")
    ends = [*found("steps.*.conclusion"), *results]
    return next(
        (end for end in ("failure", "cancelled") if end in ends), "skipped" if "skipped" in results else "success"
    )


def _hash_files(arguments: Sequence[Value]) -> Value:
    return hash_files_below(str(Path.cwd()), str(Path.home()))(arguments)


def _json(value: Value) -> str:
    """Return a value as JSON with every digit of its numbers; NaN and Infinity are written as these words."""
    pieces: list[str] = []
    _write(value, "\n", pieces)
    return "".join(pieces)


def _write(value: Value, line: str, pieces: list[str]) -> None:
    sort = kind(value)
    if sort == ARRAY:
        separator = "["
        for item in cast("list[Value]", value):
            pieces.append(f"{separator}{line}  ")
            _write(item, line + "  ", pieces)
            separator = ","
        pieces.append(f"{line}]" if value else "[]")
    elif sort == OBJECT:
        separator = "{"
        for key, item in cast("Mapping[str, Value]", value).items():
            pieces.append(f"{separator}{line}  {quoted(key)}: ")
            _write(item, line + "  ", pieces)
            separator = ","
        pieces.append(f"{line}}}" if value else "{}")
    elif sort == STRING:
        pieces.append(quoted(cast("str", value)))
    elif sort == NUMBER:
        pieces.append(_number(as_number(value)))
    else:
        pieces.append("null" if value is None else str(value).lower())


def _number(number: float) -> str:
    if number.is_integer() and abs(number) < _WHOLE_BELOW:
        return str(int(number))
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(number), repr(number))


def _blank(letter: str) -> str:
    """Return blanks as wide as a letter."""
    return "  " if east_asian_width(letter) in ("W", "F") else "" if combining(letter) else " "


def _shown(error: ExpressionError, expression: str) -> str:
    """Return an error with the line it is about and a caret below its place."""
    start = min(max(error.start, 0), len(expression))
    end = min(max(error.end, start), len(expression))
    before, rest = expression[:start], expression[start:]
    head, tail = before.rpartition("\n")[2], rest.partition("\n")[0]
    width = max(1, min(end - start, len(tail)))
    lines = [
        f"error: {error.message}",
        f"  {(head + tail).translate(_CONTROL)}",
        f"  {''.join(map(_blank, head))}{'^' * width}",
    ]
    if error.expected:
        lines.append(f"  expected: {error.expected}")
    if error.fix:
        lines.append(f"  fix: {error.fix}")
    lines.append(f"  code: {error.code}")
    return "\n".join(lines) + "\n"
