import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ostler.cli.eval import eval as eval_command


def evaluated(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(eval_command, arguments, input=given)


@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        ("1 == '1'", "true"),
        ("null", "null"),
        ("'a\"b'", '"a\\"b"'),
        ("-9.2", "-9.2"),
        ("-1 != github.h", "true"),
        ("-0", "0"),
        ("1e3", "1000"),
        ("1e21", "1e+21"),
        ("9007199254740992", "9007199254740992"),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("fromJSON('[]')", "[]"),
        ("github.event.x", "null"),
        ("github.*.x", "[]"),
        ("success() && always() && !failure() && !cancelled()", "true"),
        ("hashFiles('no/such/file')", '""'),
        ("${{ 1 }}", "1"),
        ("  ${{ true }}\n", "true"),
        ("${{ 1 }}2", '"12"'),
        ("a ${{ null }}", '"a "'),
        ("'${{ 1 }}'", '"${{ 1 }}"'),
    ],
)
def test_the_value_is_printed_as_json(expression: str, printed: str) -> None:
    result = evaluated(expression)
    assert (result.stdout, result.exit_code) == (printed + "\n", 0)


@pytest.mark.parametrize(
    "given",
    [
        '{"GitHub": {"event": {"labels": [{"name": "bug"}, {}]}}, "custom": 7, "env": {"N": "1"}}',
        "GitHub: {event: {labels: [&a {name: bug}, {}]}}\ncustom: 0x7\nenv:\n  N: '1'\n",
    ],
)
def test_contexts_come_from_json_or_yaml(given: str, tmp_path: Path) -> None:
    file = tmp_path / "contexts"
    file.write_text(given)
    expression = "toJSON(github.event.labels.*.name) == format('[\n  {0}\n]', '\"bug\"') && custom == 7 && env.n"
    assert evaluated(expression, "--context", str(file)).stdout == '"1"\n'
    assert json.loads(evaluated("github", "--context", "-", given=given).stdout) == {
        "event": {"labels": [{"name": "bug"}, {}]}
    }


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ({}, "true false false"),
        ({"job": {"status": "Success"}, "steps": {"a": {"conclusion": "failure"}}}, "true false false"),
        ({"job": {"status": "failure"}}, "false true false"),
        ({"job": {"status": "cancelled"}}, "false false true"),
        ({"steps": {"a": {"outcome": "failure", "conclusion": "success"}, "b": {}}}, "true false false"),
        ({"steps": {"a": {"conclusion": "skipped"}, "b": {"conclusion": "failure"}}}, "false true false"),
        ({"needs": {"a": {"result": "skipped"}}}, "false false false"),
        ({"needs": {"a": {"result": "success"}, "b": {"result": "cancelled"}}}, "false false true"),
    ],
)
def test_status_functions_go_by_what_is_given(given: dict[str, object], printed: str) -> None:
    expression = "format('{0} {1} {2}', success(), failure(), cancelled())"
    result = evaluated(expression, "--context", "-", given=json.dumps(given))
    assert result.stdout == f'"{printed}"\n'


def test_files_are_hashed_below_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    assert evaluated("hashFiles('*')").stdout == (
        '"5df6e0e2761359d30a8275058e299fcc0381534545f55cf43e41983f5d4c9456"\n'
    )


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        ("true && foo(1)", "  true && foo(1)\n          ^^^\n"),
        ("github.ref = 'x'", "  github.ref = 'x'\n             ^\n"),
        ("1 ||\n  1 +2", "    1 +2\n      ^^\n"),
        ("a ${{ steps.x y }}", "  a ${{ steps.x y }}\n                ^\n"),
        ("(1", "  (1\n    ^\n"),
        ("'語' == x", "  '語' == x\n          ^\n"),
        ("", "  \n  ^\n"),
        ("fromJSON('{')", "  fromJSON('{')\n  ^^^^^^^^^^^^^\n"),
    ],
)
def test_an_error_is_shown_with_its_place(expression: str, place: str) -> None:
    result = evaluated(expression)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert place in result.stderr
    assert "\n  code: expression_" in result.stderr


@pytest.mark.parametrize("arguments", [(), ("1", "2"), ("1", "--context", "/no/such/file"), ("1", "--unknown", "x")])
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...]) -> None:
    assert evaluated(*arguments).exit_code == 2


@pytest.mark.parametrize("given", ["[1]", "{", "? [a]\n: b\n", "&a [*a]", "a: &a [1]\n" + "b: [" + "*a, " * 9 + "*b]"])
def test_contexts_that_cannot_be_read_are_refused(given: str) -> None:
    error = evaluated("1", "--context", "-", given=given).exception
    assert getattr(error, "code", "") == "context_unreadable"
    assert getattr(error, "exit_code", 0) == 2


def test_contexts_that_grow_by_aliases_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 7)]
    assert getattr(evaluated("1", "--context", "-", given="\n".join(lines)).exception, "exit_code", 0) == 2
