"""What GitHub's documentation of expressions says, sentence by sentence."""

import math

import pytest

from ostler.expr.values import Value
from tests.unit.expr.world import value_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("false", False),
        ("711", 711.0),
        ("-9.2", -9.2),
        ("0xff", 255.0),
        ("0o17", 15.0),
        ("-2.99e-2", -0.0299),
        ("+1", 1.0),
        (".5", 0.5),
        ("1.e1", 10.0),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("'It''s open source!'", "It's open source!"),
        ("'a''b''c'", "a'b'c"),
        ("''", ""),
    ],
)
def test_literals(text: str, value: Value) -> None:
    found = value_of(text)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null == 0", True),
        ("null == ''", True),
        ("'' == 0", True),
        ("true == 1", True),
        ("'0' == false", True),
        ("'true' == true", False),
        ("' 1 ' == 1", True),
        ("'0x10' == 16", True),
        ("'1e3' == 1000", True),
        ("'abc' == 0", False),
        ("'abc' != 0", True),
        ("'ABC' == 'abc'", True),
        ("'É' == 'é'", True),
        ("NaN == NaN", False),
        ("NaN != NaN", True),
        ("1 < 'abc'", False),
        ("1 >= 'abc'", False),
        ("'a' < 'B'", True),
        ("false < true", True),
        ("null >= null", True),
        ("null > null", False),
        ("2 > 1 == true", True),
        ("!1 == 0", True),
        ("github == github", True),
        ("github == fromJSON('{}')", False),
        ("github >= github", True),
        ("github > env", False),
        ("fromJSON('[]') == 0", False),
        ("!github", False),
        ("!'false'", False),
        ("!''", True),
        ("!NaN", True),
        ("!-0", True),
    ],
)
def test_comparison_is_loose(text: str, value: Value) -> None:
    assert value_of(text) is value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'' || 'd'", "d"),
        ("'x' && '' || 'y'", "y"),
        ("true && 'a' || 'b'", "a"),
        ("0 && 'a'", 0.0),
        ("null || false", False),
        ("'a' || 'b' && ''", "a"),
        ("('a' || 'b') && ''", ""),
        ("1 || fromJSON('')", 1.0),
    ],
)
def test_and_and_or_return_an_operand(text: str, value: Value) -> None:
    found = value_of(text)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("github.ref", "refs/heads/main"),
        ("GitHub.REF", "refs/heads/main"),
        ("github['ref']", "refs/heads/main"),
        ("github.nothing.at.all", None),
        ("nothing.at.all", None),
        ("github['ev' ]", None),
        ("list[0]", "a"),
        ("list['0']", "a"),
        ("list[2.9]", 2),
        ("list[-1]", None),
        ("list[99]", None),
        ("list[NaN]", None),
        ("list[Infinity]", None),
        ("list[true]", None),
        ("list.key", None),
        ("github.ref[0]", None),
        ("(github).ref", "refs/heads/main"),
        ("fromJSON('{\"1\": 2}')[1]", 2.0),
        ("env['level']", "3"),
    ],
)
def test_access(text: str, value: Value) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("github.event.issue.labels.*.name", ["bug", "help wanted"]),
        ("github.event.issue.labels[*].name", ["bug", "help wanted"]),
        ("fruits.*.ediblePortions", [["roots"]]),
        ("fruits.*.colors[0]", ["green", "green"]),
        ("(fruits.*.colors)[1]", ["white"]),
        ("fruits.*.colors.*", ["green", "white", "green"]),
        ("nothing.*", []),
        ("nothing.*.name", []),
        ("github.ref.*", []),
        ("list.*[0]", ["inner"]),
    ],
)
def test_star_asks_each_element(text: str, value: Value) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("contains('Hello world', 'llo')", True),
        ("contains('Hello', 'HELL')", True),
        ("contains(github.event.issue.labels.*.name, 'bug')", True),
        ('contains(fromJSON(\'["push", "pull_request"]\'), github.event_name)', True),
        ("contains(fromJSON('[true]'), 'true')", False),
        ("contains(fromJSON('[1]'), '1')", True),
        ("contains(github, 'ref')", False),
        ("contains('abc', github)", False),
        ("contains(123, 2)", True),
        ("contains('abc', '')", True),
        ("startsWith('Hello world', 'he')", True),
        ("endsWith('Hello world', 'LD')", True),
        ("startsWith(list, 'a')", False),
        ("format('Hello {0} {1} {2}', 'Mona', 'the', 'Octocat')", "Hello Mona the Octocat"),
        ("format('{{Hello {0} {1} {2}!}}', 'Mona', 'the', 'Octocat')", "{Hello Mona the Octocat!}"),
        ("format('{0}{0}', 1.50)", "1.51.5"),
        ("format('{0} {1} {2}', github, list, null)", "Object Array "),
        ("format('{0}', '{1}')", "{1}"),
        ("format('{{{0}}}', 1)", "{1}"),
        ("join(github.event.issue.labels.*.name, ', ')", "bug, help wanted"),
        ("join(list)", "a,,2,true,Array,Object"),
        ("join('one', ', ')", "one"),
        ("join(github)", ""),
        ("join(fromJSON('[]'))", ""),
        ('toJSON(fromJSON(\'{"b": [1.50, {}], "a": []}\'))', '{\n  "b": [\n    1.5,\n    {}\n  ],\n  "a": []\n}'),
        ("toJSON('a\"b')", '"a\\"b"'),
        ("fromJSON('7')", 7.0),
        ("fromJSON('\"a\"')", "a"),
        ("fromJSON(true)", True),
        ('fromJSON(\'{"A": 1, "a": 2}\')', {"A": 1.0}),
        ("case(false, 1, true, 2, 3)", 2.0),
        ("case(false, 1, 3)", 3.0),
        ("case(true, 'a', fromJSON(''))", "a"),
        ("CONTAINS('a', 'a')", True),
    ],
)
def test_functions(text: str, value: Value) -> None:
    found = value_of(text)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("12345678901234567890", "1.23456789012346E+19"),
        ("1e15", "1E+15"),
        ("123456789012345", "123456789012345"),
        ("0.00001", "1E-05"),
        ("0.0001", "0.0001"),
        ("0.1", "0.1"),
        ("1.50", "1.5"),
        ("-0", "0"),
        ("0x7fffffff", "2147483647"),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
    ],
)
def test_numbers_are_written_with_fifteen_digits(number: str, text: str) -> None:
    assert value_of(f"format('{{0}}', {number})") == text
