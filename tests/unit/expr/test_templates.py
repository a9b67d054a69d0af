from collections.abc import Sequence
from functools import partial

import pytest

from ostler.expr.errors import ExpressionError, UnknownName
from ostler.expr.evaluation import Scope, evaluate
from ostler.expr.functions import Function
from ostler.expr.templates import Template, bare_condition, condition, resolve
from ostler.expr.values import Value, truthy
from tests.unit.expr.world import CONTEXTS

SCOPE = Scope(CONTEXTS)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("", ""),
        ("${{ 1 }}", 1.0),
        ("${{ null }}", None),
        ("${{ github.event.issue.labels.*.name }}", ["bug", "help wanted"]),
        (" ${{ 1 }}", " 1"),
        ("${{ 1 }}\n", "1\n"),
        ("${{ 1 }}${{ 2 }}", "12"),
        ("a ${{ null }} b ${{ github }} ${{ list }}", "a  b Object Array"),
        ("${{ '}}' }}", "}}"),
        ("${{ 'it''s }} ' }}!", "it's }} !"),
        ("${{'${{'}}", "${{"),
        ("$ {{ 1 }} }}", "$ {{ 1 }} }}"),
        ("${{ 1 }}}", "1}"),
    ],
)
def test_a_text_with_expressions_becomes_a_value(text: str, value: Value) -> None:
    template = Template.parse(text)
    found = template.value(SCOPE)
    assert (isinstance(found, str), found) == (isinstance(value, str), value)
    assert template.is_plain is not bool(template.expressions)


def test_text_is_always_text() -> None:
    assert Template.parse("${{ 1.50 }}").text(SCOPE) == "1.5"
    assert Template.parse("${{ github }}").text(SCOPE) == "Object"


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("a ${{ 1", "expression_not_closed", "${{ 1"),
        ("a ${{ 1 }", "expression_not_closed", "${{ 1 }"),
        ("a ${{ '1 }}", "expression_not_closed", "${{ '1 }}"),
        ("a ${{ 1 }} ${{ }}", "expression_missing", " "),
        ("a ${{ github.ref }} ${{ nope.x }}", "expression_unknown_name", "nope"),
        ("a ${{ 1 2 }}", "expression_unexpected_symbol", "2"),
        ("é ${{ github[ }}", "expression_unexpected_end", ""),
    ],
)
def test_places_are_those_of_the_whole_text(text: str, code: str, place: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        Template.parse(text).value(SCOPE)
    assert (caught.value.code, text[caught.value.start : caught.value.end]) == (code, place)


def _answer(answer: bool, arguments: Sequence[Value]) -> Value:
    return answer


@pytest.mark.parametrize(
    ("text", "when_well", "when_failed"),
    [
        (None, True, False),
        ("", True, False),
        ("  ", True, False),
        ("github.ref == 'refs/heads/main'", True, False),
        ("${{ github.ref == 'refs/heads/main' }}", True, False),
        ("false", False, False),
        ("'false'", True, False),
        ("always()", True, True),
        ("${{ ALWAYS() }}", True, True),
        ("failure()", False, True),
        ("!success()", False, True),
        ("false || contains(format('{0}', failure()), 't')", False, True),
        ("github.ref && always()", True, True),
        ("cancelled()", False, False),
        # Text around makes a text, and no text that is not empty is false.
        ("${{ false }} ", True, False),
        (" ${{ false }}", True, False),
        ("${{ false }}\n", True, False),
        ("!${{ true }}", True, False),
        ("${{ false }} && {0} }}", True, False),
        ("always() && ${{ false }}", True, False),
        ("${{ always() }} && ${{ false }}", True, True),
    ],
)
def test_conditions(text: str | None, when_well: bool, when_failed: bool) -> None:
    for failed, expected in ((False, when_well), (True, when_failed)):
        functions: dict[str, Function] = {
            "always": lambda _: True,
            "success": partial(_answer, not failed),
            "failure": partial(_answer, failed),
            "cancelled": lambda _: False,
        }
        assert truthy(evaluate(condition(text), Scope(CONTEXTS, functions))) is expected


def test_a_bare_condition_asks_for_nothing_more() -> None:
    for text in ("1 == 1", "${{ 1 == 1 }}"):
        assert evaluate(bare_condition(text), SCOPE) is True
    assert evaluate(bare_condition("${{ false }}!"), SCOPE) == "false!"


def test_a_text_around_a_condition_is_put_together_as_text() -> None:
    node = condition("a {0} ${{ 1 }}}} b")
    assert evaluate(node, Scope({}, {"success": lambda _: True})) == "a {0} 1}} b"


def test_whole_values_are_filled_in() -> None:
    raw: Value = {
        "plain": [1, None, True, "a"],
        "text": ["${{ github.ref }}", {"deep": "x ${{ env.level }}"}],
        "${{ env.level }}rd": "${{ fromJSON('{\"a\": [1]}') }}",
        "${{ insert }}": {"b": "${{ 2 }}"},
    }
    assert resolve(raw, SCOPE) == {
        "plain": [1, None, True, "a"],
        "text": ["refs/heads/main", {"deep": "x 3"}],
        "3rd": {"a": [1.0]},
        "b": 2.0,
    }
    with pytest.raises(UnknownName):
        resolve([{"a": "${{ nope }}"}], SCOPE)
    with pytest.raises(ExpressionError, match="only an object"):
        resolve({"${{insert}}": "${{ 1 }}"}, SCOPE)
