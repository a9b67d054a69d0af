"""What strangers can write, put into a script: it is run as part of the script.

Titles, names of branches and messages of commits come from whoever opens an issue or a pull request. In a variable they
are data; in the text of a script they are code.
"""

from collections.abc import Iterator
from typing import Final

from ostler.expr.nodes import Binary, Call, Index, Literal, Logical, Name, Node, Not, Property, Star
from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet
from ostler.workflow.findings import Finding
from ostler.workflow.places import span_within
from ostler.workflow.structure import Path

UNTRUSTED: Final = frozenset(
    tuple(path.split("."))
    for path in (
        "github.head_ref",
        "github.event.issue.title",
        "github.event.issue.body",
        "github.event.pull_request.title",
        "github.event.pull_request.body",
        "github.event.pull_request.head.ref",
        "github.event.pull_request.head.label",
        "github.event.pull_request.head.repo.default_branch",
        "github.event.comment.body",
        "github.event.review.body",
        "github.event.review_comment.body",
        "github.event.discussion.title",
        "github.event.discussion.body",
        "github.event.pages.*.page_name",
        "github.event.commits.*.message",
        "github.event.commits.*.author.email",
        "github.event.commits.*.author.name",
        "github.event.head_commit.message",
        "github.event.head_commit.author.email",
        "github.event.head_commit.author.name",
        "github.event.head_commit.committer.email",
        "github.event.head_commit.committer.name",
        "github.event.workflow_run.head_branch",
        "github.event.workflow_run.head_commit.message",
        "github.event.workflow_run.head_commit.author.email",
        "github.event.workflow_run.head_commit.author.name",
        "github.event.workflow_run.pull_requests.*.head.ref",
        "github.event.workflow_run.display_title",
    )
)
_HARMLESS: Final = ("contains", "startswith", "endswith", "hashfiles", "success", "failure", "always", "cancelled")


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check the scripts of all steps."""
    scripts = {
        step.path for step in sheet.steps if plain.text(step.node.get("uses")).startswith("actions/github-script@")
    }
    for formula in sheet.formulas:
        path = formula.site.path
        if path[-1] != "run" and not (path[-2:] == ("with", "script") and path[:-2] in scripts):
            continue
        if not _in_step(path):
            continue
        for node in formula.nodes:
            for part in _outsiders(node):
                message = f"{_shown(part)} is written by strangers, and here it becomes part of the script"
                fix = 'Put it into a variable below `env`, and use that: "$TITLE".'
                span = span_within(formula.site.node, sheet.source, part.start, part.end)
                yield Finding("untrusted-input", message, span, fix, "warning")


def _in_step(path: Path) -> bool:
    return "steps" in path


def _outsiders(node: Node) -> Iterator[Node]:
    """Yield the parts whose text arrives in the value."""
    match node:
        case Literal() | Not() | Binary():
            return
        case Logical():
            for at, operand in enumerate(node.operands):
                if node.operator == "||" or at == len(node.operands) - 1:
                    yield from _outsiders(operand)
        case Call():
            for argument in () if node.key in _HARMLESS else node.arguments:
                yield from _outsiders(argument)
        case _:
            if _path(node) in UNTRUSTED:
                yield node


def _path(node: Node) -> tuple[str, ...]:
    """Return the way to a property, in small letters, with ``*`` for every item of a list."""
    match node:
        case Name():
            return (node.key,)
        case Property():
            return (*_path(node.target), node.name.lower())
        case Star():
            return (*_path(node.target), "*")
        case Index():
            key = node.index.value if isinstance(node.index, Literal) else None
            return (*_path(node.target), key.lower() if isinstance(key, str) else "*")
        case _:
            return ()


def _shown(node: Node) -> str:
    return ".".join(_path(node))
