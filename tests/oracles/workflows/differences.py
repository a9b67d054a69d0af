"""Where Ostler and GitHub's parser for editors come to different verdicts, and why Ostler is right to."""

import re
from typing import Final

BEYOND_THE_PARSER: Final[dict[str, str]] = {
    "concurrency-queue": "documented as an error; the server checks it",
    "container-image": "the parser looks at no container that holds an expression",
    "empty-value": "the server refuses a workflow without events",
    "expression-json": "evaluating it is an error",
    "expression-format": "evaluating it is an error, whatever the values are",
    "filter-conflict": "documented as an error; the server checks it",
    "filter-pattern": "the server checks patterns",
    "id-duplicate": "the runner's parser ignores case; the one for editors does not",
    "input-default": "the server checks the defaults of choices and numbers",
    "job-empty": "the server refuses a job without steps",
    "matrix-empty": "the runner's parser refuses it when it makes the matrix",
    "matrix-exclude": "the runner's parser refuses it when it makes the matrix",
    "matrix-include": "the runner's parser refuses it when it makes the matrix",
    "secret-name": "the server refuses it",
    "shell-unknown": "the runner refuses it",
    "snapshot-version": "the runner's parser refuses it",
    "tag": "the parser takes an unknown tag for text",
    "time-zone": "the server checks the name",
    "uses-format": "the runner's parser and the server refuse it",
}
"""Rules of errors that the parser does not look for, with who does."""

ONLY_THE_PARSER: Final[dict[str, str]] = {
    r"Unexpected value ''": "published workflows have filters with nothing below them, and GitHub runs these",
    r"Unexpected value '((branches|tags|paths)(-ignore)?|types)'": "GitHub runs these, and ignores the filter",
    r"A mapping was not expected": "as above, below events that know no filter at all",
    r"at least one job with no dependencies": "follows from another complaint; a circle of needs is found by both",
    r"Unexpected value 'repository_dispatch'": "the parser for editors knows it as a key only; the word works too",
    r"depends on unknown job": "the runner's parser compares ids without case; the one for editors does not",
    r"Unexpected type '(Basic|Insert)ExpressionToken'": "the parser fails at a key that is an expression; runs do not",
    r"reading 'input default'": "a default of type text may be written as a number, which becomes text",
    r"Unexpected value '(true|false)?'": "actions may write `required` as text",
    r"Required property is missing: (name|description)": "the runner asks for neither",
    r"Unrecognized named-value": "in the description of an input, which nobody evaluates",
}
"""Complaints of the parser that Ostler does not share."""


def explained_beyond(rules: set[str]) -> bool:
    """Whether errors that only Ostler finds are all of rules that the parser leaves to others."""
    return rules <= BEYOND_THE_PARSER.keys()


def explained_parser(kind: str, messages: list[str]) -> bool:
    """Whether complaints that only the parser has are all of the known kinds."""
    patterns = list(ONLY_THE_PARSER)
    if kind == "workflow":
        patterns = patterns[:8]
    return all(any(re.search(pattern, message) for pattern in patterns) for message in messages)
