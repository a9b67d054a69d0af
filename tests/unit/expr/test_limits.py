"""Nothing that is written in an expression exhausts whoever evaluates it."""

import pytest

from ostler.expr import nodes
from ostler.expr.errors import ExpressionError, ExpressionTooDeep, ExpressionTooLong, OutputTooLarge
from ostler.expr.evaluation import Scope
from ostler.expr.json_text import MAX_TEXT
from ostler.expr.parser import parse
from ostler.expr.templates import Template
from ostler.expr.values import Value
from tests.unit.expr.world import value_of


def test_an_expression_has_21_000_characters_at_most() -> None:
    fitting = "1".ljust(21_000)
    assert value_of(fitting) == 1
    with pytest.raises(ExpressionTooLong):
        parse(fitting + " ")


@pytest.mark.parametrize(
    ("before", "core", "after"),
    [
        ("(", "1", ")"),
        ("!", "1", ""),
        ("", "github", ".a"),
        ("", "github", "[0]"),
        ("toJSON(", "github", ")"),
        ("github[", "github", "]"),
        ("", "1", " == 1"),
        ("", "1", " < 1"),
    ],
)
def test_an_expression_is_50_deep_at_most(before: str, core: str, after: str) -> None:
    parse(before * 49 + core + after * 49)
    with pytest.raises(ExpressionTooDeep):
        parse(before * 50 + core + after * 50)


def test_a_long_chain_of_and_and_or_is_not_deep() -> None:
    text = " || ".join(["0 && 1"] * 2000)
    assert value_of(text) == 0
    assert nodes.depth(parse(text)) == 3
    assert nodes.depth(parse("1 || (2 || (3 || 4))")) == 2


DOUBLED = "format('{0}{0}', " * 25 + "'12345678'" + ")" * 25


@pytest.mark.parametrize(
    "text",
    [
        DOUBLED,
        "join(fromJSON('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]'), big)",
        "toJSON(toJSON(toJSON(quotes)))",
        "toJSON(many)",
        "format('{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}', big)",
        " && ".join([f"format('{{0}}', '{'x' * 300}')"] + ["format('{0}', nearly)"] * 4),
        " && ".join(["fromJSON(long)"] * 20),
    ],
)
def test_what_would_grow_too_large_is_refused(text: str) -> None:
    contexts: dict[str, Value] = {
        "big": "x" * (MAX_TEXT // 11),
        "nearly": "x" * (MAX_TEXT - 1),
        "quotes": '"' * (MAX_TEXT // 4),
        "many": ["x" * 1000] * (MAX_TEXT // 1000),
        "long": '"' + "x" * (MAX_TEXT // 10) + '"',
    }
    with pytest.raises(OutputTooLarge) as caught:
        value_of(text, contexts)
    assert "MiB" in caught.value.message
    assert caught.value.start >= 0


def test_a_text_with_expressions_is_bounded_too() -> None:
    scope = Scope({"nearly": "x" * (MAX_TEXT - 1)})
    with pytest.raises(OutputTooLarge):
        Template.parse("${{ nearly }}${{ nearly }}").text(scope)


def test_the_end_of_an_expression_is_found_in_one_pass() -> None:
    assert Template.parse("${{ 1 }}" + "''" * 500_000 + "}}").value(Scope({})) != ""
    with pytest.raises(ExpressionTooLong):
        Template.parse("${{ " + "''" * 500_000 + " }}")


def test_json_is_100_deep_at_most() -> None:
    deep: dict[str, Value] = {"text": "[" * 100 + "]" * 100, "deeper": "[" * 101 + "]" * 101, "far": '{"a":' * 100_000}
    assert value_of("toJSON(fromJSON(text)) != ''", deep) is True
    for name in ("deeper", "far"):
        with pytest.raises(ExpressionError):
            value_of(f"fromJSON({name})", deep)
    value: Value = []
    for _ in range(5000):
        value = [value]
    with pytest.raises(ExpressionTooDeep):
        value_of("toJSON(value)", {"value": value})
