"""Contexts that the tests of expressions share, and the short way to a value."""

from ostler.expr.evaluation import Scope, evaluate
from ostler.expr.parser import parse
from ostler.expr.values import Value

CONTEXTS: dict[str, Value] = {
    "github": {
        "ref": "refs/heads/main",
        "event_name": "push",
        "actor": "Octocat",
        "event": {"issue": {"labels": [{"name": "bug"}, {"name": "help wanted"}, {"colour": "red"}], "number": 7}},
    },
    "env": {"EMPTY": "", "LEVEL": "3"},
    "fruits": {"scallions": {"colors": ["green", "white"], "ediblePortions": ["roots"]}, "kale": {"colors": ["green"]}},
    "list": ["a", None, 2, True, ["inner"], {"key": "value"}],
    "nothing": None,
}


def value_of(text: str, contexts: dict[str, Value] = CONTEXTS) -> Value:
    return evaluate(parse(text), Scope(contexts, {"success": lambda _: True, "always": lambda _: True}))
