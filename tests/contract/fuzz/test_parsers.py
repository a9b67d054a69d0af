"""What strangers write is thrown at the three parsers for as long as OSTLER_FUZZ_SECONDS says: a minute each in CI.

Inputs are pieces of the language in any order and damaged files, drawn from a seed that is a new one each time. What
makes a parser fail is in the message, together with the seed.
"""

import contextlib
import os
import time
from collections.abc import Callable

import pytest

from ostler.actions.engine.commands import NAMES, parse as parse_command
from ostler.actions.engine.file_commands import BadFile, pairs
from ostler.effects.chance import Random, seeded_random
from ostler.expr.errors import ExpressionError
from ostler.expr.evaluation import Scope, evaluate
from ostler.expr.json_text import to_json
from ostler.expr.parser import parse
from ostler.expr.templates import Template, condition
from ostler.workflow.check import check_action, check_workflow
from ostler.workflow.rules import RULES
from tests.oracles.workflows.corpus import samples
from tests.unit.expr.world import CONTEXTS

SECONDS = float(os.environ.get("OSTLER_FUZZ_SECONDS", "1"))
_LONGEST_SECONDS = 20.0
_ROUND = 50

EXPRESSION = (
    *("(", ")", "[", "]", ",", ".", "*", "!", "==", "!=", "<", ">=", "&&", "||", "=", "&", "'", '"', " ", "\n", "${{"),
    *("}}", "true", "null", "NaN", "github", "env", "event", "ref", "x-y", "'a'", "'{0}'", "'[1, 2]'", "1", ".5"),
    *("0xff", "contains", "format", "join", "toJSON", "fromJSON", "case", "success", "{0}", "{", "\ud800", "\0", "é"),
)
COMMAND = (
    *("::", "##[", "error", "add-mask", "add-matcher", "stop-commands", "set-output", "group", "endgroup", "]", "="),
    *(",", ";", ":", " ", "%", "%0A", "%25", "%3A", "file", "line", "name", "<<", "EOF", "\n", "\r", "\0", "é", "x"),
)
YAML = (
    *("on", "jobs", "steps", "runs-on", "needs", "if", "uses", "run", "matrix", "include", "<<", "&a", "*a", ": "),
    *("\n", "\n  ", "\n    - ", "- ", "{", "}", "[", "]", ", ", "'", '"', "|", ">", "!", "#", "\t", "\0", "\ufeff"),
    *("${{ ", " }}", "github.ref", "1e999", "true", "~", "../..", "docker://", "@", "𝄞"),
)
CORPUS = [sample.content for sample in samples()]


def _pieces(random: Random, pieces: tuple[str, ...], most: int) -> str:
    return "".join(random.choice(pieces) for _ in range(random.below(most)))


def _expression(random: Random) -> None:
    text = _pieces(random, EXPRESSION, 30)
    for read in (parse, condition):
        with contextlib.suppress(ExpressionError):
            to_json(evaluate(read(text), Scope(CONTEXTS)))
    with contextlib.suppress(ExpressionError):
        Template.parse(f"a {text} b").text(Scope(CONTEXTS))


def _command(random: Random) -> None:
    text = _pieces(random, COMMAND, 25)
    found = parse_command(text.replace("\n", ""))
    assert found is None or found.name in NAMES
    with contextlib.suppress(BadFile):
        assert all(name for name, _ in pairs(text))


def _workflow(random: Random) -> None:
    if random.below(3):
        whole = random.choice(CORPUS)
        start = random.below(len(whole) + 1)
        text = whole[:start] + _pieces(random, YAML, 6) + whole[start + random.below(60) :]
    else:
        text = _pieces(random, YAML, 40)
    for check in (check_workflow, check_action):
        checked = check("x.yml", text.encode("utf-8", "surrogatepass"))
        assert all(finding.rule in RULES and finding.message for finding in checked.findings)


@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize("once", [_expression, _command, _workflow], ids=["expressions", "commands", "workflows"])
def test_nothing_makes_it_fall(once: Callable[[Random], None]) -> None:
    ends = time.monotonic() + SECONDS
    first = seed = time.time_ns()
    while time.monotonic() < ends:
        for _ in range(_ROUND):
            seed += 1
            began = time.monotonic()
            try:
                once(seeded_random(seed))
            except Exception as error:
                error.add_note(f"seed {seed}")
                raise
            assert time.monotonic() - began < _LONGEST_SECONDS, f"seed {seed} takes too long"
    assert seed > first
