"""What the types of an expression say: each mistake once, at its place, and nothing about what may be meant."""

import pytest

from ostler.workflow.check import check_workflow
from ostler.workflow.findings import Finding

_FILE = """
on:
  push:
  workflow_dispatch:
    inputs:
      flag: {{type: boolean}}
      count: {{type: number}}
      level: {{type: choice, options: [low, high]}}
      word: {{}}
jobs:
  before:
    runs-on: x
    outputs: {{version: 1}}
    steps: [{{run: make}}]
  build:
    needs: before
    runs-on: x
    strategy: {{matrix: {{os: [a, b]}}}}
    services: {{db: {{image: x, ports: [80]}}}}
    steps:
      - id: cache
        uses: actions/cache@v4
        with: {{path: x, key: y}}
      - id: own
        run: make
      - if: {}
        run: make
"""


def _findings(condition: str) -> list[Finding]:
    text = _FILE.format('"' + condition.replace('"', '\\"') + '"')
    return [finding for finding in check_workflow("ci.yml", text).findings if finding.severity != "hint"]


@pytest.mark.parametrize(
    "condition",
    [
        "github.event.pull_request.head.repo.fork == true",
        "contains(github.event.issue.labels.*.name, 'x')",
        "inputs.flag == true && inputs.count > 3 && inputs.level == 'high' && inputs.word == 'x'",
        "inputs.level == '' && github['EVENT_NAME'] == 'PUSH'",
        "needs.before.outputs.version == '1' && needs.before.result != 'skipped'",
        "contains(needs.*.result, 'failure')",
        "matrix.os == 'a' && (matrix.version || 'x') == 'x' && !matrix.extra",
        "steps.cache.outputs.cache-hit != 'true' && steps.own.outputs.anything == '1'",
        "job.services.db.ports['80'] == 1 && job.status == 'success' && strategy.job-index == 0",
        "runner.os == 'linux' && runner.arch == 'arm64' && github.ref_type == 'TAG'",
        "github.ref == 'refs/heads/main' || github.ref == ''",
        "env.ANY == 'x' && vars.ANY == 'y' && github.event.inputs.flag == 'true'",
        "fromJSON(vars.LIST)[0].name == true && toJSON(github.event) != ''",
        "format('{0} {{1}}', github.sha) == 'x'",
        "github.token != ''",
    ],
)
def test_what_may_be_meant(condition: str) -> None:
    """Unknown values may be anything, and asking whether there is one is no mistake."""
    assert _findings(condition) == []


@pytest.mark.parametrize(
    ("condition", "rule", "message"),
    [
        ("github.evnt_name == 'push'", "expression-property", "no 'evnt_name' in `github`"),
        ("github.ref.name == 'x'", "expression-property", "this is text"),
        ("needs.build.result == 'success'", "expression-property", "no 'build' in `needs`"),
        ("needs.before.outputs.verison == '1'", "expression-property", "no 'verison'"),
        ("steps.cache.outputs.hit == 'true'", "expression-property", "no 'hit'"),
        ("steps.own.status == 'x'", "expression-property", "no 'status' in a step"),
        ("steps['later'].outcome == 'success'", "expression-property", "no 'later' in `steps`"),
        ("matrix.version == 'x'", "expression-property", "no 'version' in the matrix"),
        ("inputs.other == 'x'", "expression-property", "no 'other' in the inputs"),
        ("job.services.cache.id == 'x'", "expression-property", "no 'cache' in the services"),
        ("inputs.flag == 'true'", "expression-comparison", "never true"),
        ("inputs.flag != 'true'", "expression-comparison", "always true"),
        ("inputs.level == 'medium'", "expression-comparison", "never 'medium'"),
        ("inputs.count == 'three'", "expression-comparison", "'three' is text"),
        ("steps.own.outputs.changed == true", "expression-comparison", "'true' is not true"),
        ("needs.before.result == 'failed'", "expression-comparison", "never 'failed'"),
        ("github.event_name == 'pull-request'", "expression-comparison", "never 'pull-request'"),
        ("github.ref == 'main'", "expression-comparison", "always begins with 'refs/'"),
        ("needs.*.result == 'failure'", "expression-comparison", "a list is not equal"),
        ("github.event == 'push'", "expression-comparison", "an object is not equal"),
        ("startsWith(github.event, 'x')", "expression-object", "startsWith takes text"),
        ("format('{1}', github.sha) == 'x'", "expression-format", "asks for {1}"),
    ],
)
def test_what_cannot_be_meant(condition: str, rule: str, message: str) -> None:
    """One finding, with the words that lead to the mistake."""
    (finding,) = _findings(condition)
    assert finding.rule == rule
    assert message in finding.message


def test_places_within_scripts() -> None:
    """A mistake is shown where it stands, in the line of a script."""
    job = "runs-on: x\n    steps:\n      - run: |\n          first\n          x ${{ github.shaa }}\n"
    (finding,) = check_workflow("ci.yml", f"on: push\njobs:\n  a:\n    {job}").findings
    assert finding.span == (8, 17, 8, 28)
