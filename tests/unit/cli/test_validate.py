"""The command as it is called: which files it takes, what it prints, and how it exits."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ostler.cli.errors import CommandFailed
from ostler.cli.validate import validate

GOOD = "on: push\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make\n"
BAD = GOOD.replace("run: make", "rnu: make")
HINT = GOOD.replace("run: make", "uses: a/b@main")
ACTION = "name: a\ndescription: b\nruns: {using: node24, main: x.js}\n"


def _repository(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / ".github/workflows" / f"{name}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(validate, [str(argument) for argument in arguments])


def test_a_repository_is_found_from_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its workflows and actions, and without what is no workflow."""
    _repository(tmp_path, good=GOOD, bad=BAD)
    (tmp_path / "action.yml").write_text(ACTION)
    (tmp_path / "compose.yml").write_text("services: {}\n")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules/action.yml").write_text("nothing")
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    result = _run()
    assert result.exit_code == 1
    assert "../.github/workflows/bad.yml:6:9: a step needs one of" in result.stdout
    assert "3 files checked: 1 error" in result.stderr


def test_a_finding_is_shown_with_its_line(tmp_path: Path) -> None:
    """The caret stands below the place, whatever the width of what is before it."""
    path = tmp_path / "ci.yml"
    path.write_text(GOOD.replace("ubuntu-latest", "'ü日' # x").replace("push", "{push: {brnaches: x}}"))
    result = _run(path)
    assert result.stdout == (
        f"{path}:1:13: `push` has no key 'brnaches' [unknown-key]\n"
        "    on: {push: {brnaches: x}}\n"
        "                ^~~~~~~~\n"
        "    fix: Did you mean 'branches'?\n"
    )


@pytest.mark.parametrize(
    ("text", "arguments", "code"), [(GOOD, (), 0), (BAD, (), 1), (HINT, (), 0), (HINT, ("--strict",), 1)]
)
def test_hints_do_not_fail(tmp_path: Path, text: str, arguments: tuple[str, ...], code: int) -> None:
    """Unless they are asked to."""
    (tmp_path / "ci.yml").write_text(text)
    assert _run(tmp_path / "ci.yml", *arguments).exit_code == code


def test_what_cannot_be_read_is_no_finding(tmp_path: Path) -> None:
    """It is a mistake of the command line."""
    for path in (tmp_path, tmp_path / "nothing.yml", Path("/dev/null")):
        result = _run(path)
        assert isinstance(result.exception, CommandFailed)
        assert result.exception.exit_code == 2


def test_json(tmp_path: Path) -> None:
    """Every finding with its place."""
    (tmp_path / "ci.yml").write_text(BAD)
    reply: dict[str, Any] = json.loads(_run("--json", tmp_path).stdout)
    assert reply["files"] == [f"{tmp_path}/ci.yml"]
    assert {key: reply["findings"][0][key] for key in ("line", "column", "severity", "rule")} == {
        "line": 6,
        "column": 9,
        "severity": "error",
        "rule": "missing-key",
    }


def test_sarif(tmp_path: Path) -> None:
    """With the rules that are named."""
    (tmp_path / "a b.yml").write_text(BAD)
    log: dict[str, Any] = json.loads(_run("--sarif", tmp_path).stdout)
    (run,) = log["runs"]
    result = run["results"][0]
    assert (log["version"], result["ruleId"], result["level"]) == ("2.1.0", "missing-key", "error")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "missing-key"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("/a%20b.yml")
    assert place["region"] == {"startLine": 6, "startColumn": 9, "endLine": 7, "endColumn": 1}


def test_local_actions_and_workflows_are_looked_at(tmp_path: Path) -> None:
    """As far as the repository is at hand; one without git may have files elsewhere."""
    _repository(
        tmp_path,
        ci=GOOD.replace("runs-on: ubuntu-latest\n    steps:\n      - run: make", "uses: ./.github/workflows/x.yml"),
    )
    path = tmp_path / ".github/workflows/ci.yml"
    assert "hint: there is no file" in _run(path).stdout
    (tmp_path / ".git").mkdir()
    assert "4:11: there is no file" in _run(path).stdout
    _repository(tmp_path, x=GOOD)
    assert "[call-event]" in _run(path).stdout


@pytest.mark.parametrize(("name", "kind"), [("action.yml", "an action"), ("other.yml", "an action")])
def test_actions_are_told_by_name_and_content(tmp_path: Path, name: str, kind: str) -> None:
    """An action may have any name where it is only shown."""
    (tmp_path / name).write_text(ACTION.replace("description", "descripton"))
    assert kind in _run(tmp_path / name).stdout


def test_schemas_are_printed() -> None:
    """For editors."""
    assert json.loads(_run("--schema", "workflow").stdout)["title"] == "Workflow"
    assert json.loads(_run("--schema", "action").stdout)["title"] == "Action"
