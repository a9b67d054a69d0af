"""Laws that hold for all values, and what no text can break."""

import math
from collections.abc import Mapping
from contextlib import suppress

import pytest
from hypothesis import given, settings, strategies

from ostler.expr.errors import ExpressionError
from ostler.expr.evaluation import Scope, evaluate
from ostler.expr.json_text import from_json, to_json
from ostler.expr.parser import parse
from ostler.expr.templates import Template, condition, resolve
from ostler.expr.values import CaseSensitive, Value, as_number, as_text, equal, folded, less, truthy
from tests.unit.expr.world import CONTEXTS, value_of

_SCALARS = (
    strategies.none()
    | strategies.booleans()
    | strategies.integers(-(10**300), 10**300)
    | strategies.floats(-1e300, 1e300)
    | strategies.sampled_from((math.nan, math.inf, -math.inf))
    | strategies.text()
    | strategies.sampled_from(("", "1", " 1 ", "0x1f", "1e3", "NaN", "Infinity", "true", "é", "\u0131", "ß", "\ud800"))
)
VALUES = strategies.recursive(
    _SCALARS,
    lambda inner: strategies.lists(inner, max_size=4) | strategies.dictionaries(strategies.text(), inner, max_size=4),
    max_leaves=12,
)
_PIECES = (
    *("(", ")", "[", "]", ",", ".", "*", "!", "==", "!=", "<", ">=", "&&", "||", "=", "&", "'", '"', " ", "\n", "${{"),
    *("true", "null", "NaN", "github", "env", "list", "event", "ref", "x-y", "'a'", "'{0}'", "'[1, 2]'", "1", ".5"),
    *("contains", "format", "join", "toJSON", "fromJSON", "case", "success", "{0}", "{", "\ud800", "\x00", "insert"),
    *("}}", "0xff", "\u00e9"),
)
TEXTS = strategies.lists(strategies.sampled_from(_PIECES) | strategies.text(max_size=3), max_size=25).map("".join)


@settings(max_examples=1000)
@given(TEXTS)
def test_no_text_breaks_the_parser_the_evaluator_or_a_template(text: str) -> None:
    scope = Scope(CONTEXTS, dict.fromkeys(("success", "always", "failure", "cancelled"), lambda _: True))
    for use in (parse, condition):
        with suppress(ExpressionError):
            node = use(text)
            assert 0 <= node.start <= node.end <= len(text)
            evaluate(node, scope)
    with suppress(ExpressionError):
        Template.parse(text).value(scope)
    with suppress(ExpressionError):
        resolve({text: [text]}, scope)


@given(TEXTS)
def test_every_error_of_syntax_has_its_place_in_the_text(text: str) -> None:
    for use in (parse, Template.parse):
        try:
            use(text)
        except ExpressionError as error:
            start, end = error.start, error.end
        else:
            continue
        assert 0 <= start <= end <= len(text)


@given(VALUES, VALUES)
def test_comparison_obeys_its_laws(left: Value, right: Value) -> None:
    assert equal(left, right) is equal(right, left)
    assert not (less(left, right) and less(right, left))
    assert not (less(left, right) and equal(left, right))
    assert truthy(left) in (True, False)


@given(VALUES)
def test_every_value_has_a_text_and_a_number(value: Value) -> None:
    text, number = as_text(value), as_number(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(number):
        assert math.isclose(as_number(text), number, rel_tol=1e-14)


@given(VALUES)
def test_json_comes_back_as_it_went(value: Value) -> None:
    written = to_json(value)
    if "NaN" in written or "Infinity" in written:
        return
    assert to_json(from_json(written)) == to_json(_once(value))


def _once(value: Value) -> Value:
    """Without the keys that differ from an earlier one only in case."""
    if isinstance(value, Mapping):
        kept: dict[str, Value] = {}
        for key, item in value.items():
            if folded(key) not in map(folded, kept):
                kept[key] = _once(item)
        return kept
    return [_once(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("ß", "SS", False),
        ("ß", "ß", True),
        ("\ufb01", "FI", False),
        ("\u0131", "I", False),
        ("\u0130", "i", False),
        ("Σ", "ς", True),
        ("straße", "STRAßE", True),
    ],
)
def test_case_is_ignored_letter_by_letter(left: str, right: str, same: bool) -> None:
    assert equal(left, right) is same


def test_strings_are_ordered_by_their_code_units() -> None:
    assert less("\U0001f600", "\uffee")
    assert less("_", "a") is False
    assert less("a", "_") is True


def test_the_environment_of_linux_tells_names_apart_by_case() -> None:
    contexts: dict[str, Value] = {"env": CaseSensitive({"Path": "a", "PATH": "b"}), "github": {"Path": "a"}}
    assert value_of("format('{0} {1} {2} {3}', env.Path, env.PATH, env.path, github.PATH)", contexts) == "a b  a"


def test_whole_numbers_are_taken_for_floats() -> None:
    contexts: dict[str, Value] = {"n": {"small": 3, "huge": 10**400, "list": (1, 2)}}
    assert value_of("n.small == 3 && n.huge == Infinity && contains(n.list, '2')", contexts) is True
    assert value_of("toJSON(n.small)", contexts) == "3"


def test_surrogates_without_partner_are_escaped_in_json() -> None:
    assert to_json("\ud800é\x1f") == '"\\ud800é\\u001f"'
    assert from_json('"\\ud83d\\ude00"') == "\U0001f600"
