"""What is wrong, where, and what would have been right."""

import pytest

from ostler.expr.errors import ExpressionError
from ostler.expr.names import name_errors
from ostler.expr.parser import parse
from tests.unit.expr.world import value_of


def error_of(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        value_of(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("", "expression_missing", ""),
        ("  \n ", "expression_missing", "  \n "),
        ("(1", "expression_unexpected_end", ""),
        ("1 ==", "expression_unexpected_end", ""),
        ("github.", "expression_unexpected_end", ""),
        ("github.5", "expression_unexpected_symbol", "5"),
        ("1 2", "expression_unexpected_symbol", "2"),
        ("github.ref = 1", "expression_unexpected_symbol", "="),
        ("true & false", "expression_unexpected_symbol", "&"),
        ('github == "a b"', "expression_unexpected_symbol", '"a'),
        ("'it's'", "expression_unexpected_symbol", "s'"),
        ("a || 'open", "expression_unexpected_symbol", "'open"),
        ("-0xaf", "expression_unexpected_symbol", "-0xaf"),
        ("1_000", "expression_unexpected_symbol", "1_000"),
        ("a$b", "expression_unexpected_symbol", "a$b"),
        ("'a'[0]", "expression_unexpected_symbol", "["),
        ("'a'.b", "expression_unexpected_symbol", ".b"),
        ("true.b", "expression_unexpected_symbol", ".b"),
        ("a.b()", "expression_unexpected_symbol", "("),
        ("join('a',)", "expression_unexpected_symbol", ")"),
        ("join(,)", "expression_unexpected_symbol", ","),
        ("github[]", "expression_unexpected_symbol", "]"),
        ("github.ref not 'a'", "expression_unexpected_symbol", "not"),
        ("${{ 1 }}", "expression_unexpected_symbol", "${{"),
        ("1 == TRUE", "expression_unknown_name", "TRUE"),
        ("gihub.ref", "expression_unknown_name", "gihub"),
        ("contains", "expression_unknown_name", "contains"),
        ("false && nothere", "expression_unknown_name", "nothere"),
        ("false && fromJson2('')", "expression_unknown_function", "fromJson2"),
        ("true || contains('a')", "expression_argument_count", "contains('a')"),
        ("join()", "expression_argument_count", "join()"),
        ("toJSON(1, 2)", "expression_argument_count", "toJSON(1, 2)"),
        ("case(true, 1)", "expression_argument_count", "case(true, 1)"),
        ("case(true, 1, true, 2)", "expression_argument_count", "case(true, 1, true, 2)"),
        ("success(1)", "expression_argument_count", "success(1)"),
        ("1 && case('true', 1, 2)", "expression_argument", "'true'"),
        ("1 && fromJSON('')", "expression_argument", "fromJSON('')"),
        ("fromJSON('[1,]')", "expression_argument", "fromJSON('[1,]')"),
        ("fromJSON('NaN')", "expression_argument", "fromJSON('NaN')"),
        ("format('{1}', 0)", "expression_argument", "format('{1}', 0)"),
        ("format('{0')", "expression_argument", "format('{0')"),
        ("format('}')", "expression_argument", "format('}')"),
        ("format('{0x}', 1)", "expression_argument", "format('{0x}', 1)"),
    ],
)
def test_errors_have_a_code_and_a_place(text: str, code: str, place: str) -> None:
    error = error_of(text)
    assert (error.code, text[error.start : error.end]) == (code, place)
    assert error.message
    assert error.expected


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("True", "Did you mean 'true'?"),
        ("gihub.ref", "Did you mean 'github'?"),
        ("tojsn(1)", "Did you mean 'toJSON'?"),
        ("startWith('a', 'b')", "Did you mean 'startsWith'?"),
        ("success && 1", "Call the function: success(…)."),
        ("github.ref = 'a'", "Write ==."),
        ("1 | 2", "Write ||."),
        ("1 and 2", "Write &&."),
        ('"a"', "Write strings in single quotes: 'text'."),
        ("1 ? 2 : 3", "Choose with case(condition, value, otherwise), or condition && value || otherwise."),
        ("1 + 2", "There is no arithmetic in expressions."),
        ("github.ref /2", "There is no arithmetic in expressions."),
        ("github.5", "Write a key with other characters as ['key']."),
    ],
)
def test_errors_propose_what_was_meant(text: str, fix: str) -> None:
    assert error_of(text).fix == fix


def test_every_unknown_name_is_found() -> None:
    errors = list(name_errors(parse("a.b || c(d) || join()"), (), ()))
    assert [(error.code, error.start) for error in errors] == [
        ("expression_unknown_name", 0),
        ("expression_unknown_name", 9),
        ("expression_unknown_function", 7),
        ("expression_argument_count", 15),
    ]
