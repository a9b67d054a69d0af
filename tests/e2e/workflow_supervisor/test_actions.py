"""Composite and JavaScript actions with real processes: from the workspace and from a folder of mirrors."""

import shutil
from pathlib import Path

import pytest

from ostler.agent.supervision import ActionServices
from tests.e2e.workflow_supervisor.parts import order, program, ran

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node: install it, for example by apt")

GREET = """
name: greet
inputs:
  who: {default: nobody}
outputs:
  said: {value: "${{ steps.say.outputs.text }}"}
runs:
  using: composite
  steps:
    - id: say
      shell: bash
      run: |
        echo "hello ${{ inputs.who }} from $(basename "$GITHUB_ACTION_PATH")"
        echo "text=hi ${{ inputs.who }}" >>"$GITHUB_OUTPUT"
        echo "INNER=1" >>"$GITHUB_ENV"
    - shell: bash
      run: echo "inner $INNER $OUTER"
"""
SCRIPT = """
const fs = require('fs');
const phase = '%s';
console.log(`${phase} who=${process.env.INPUT_WHO} state=${process.env.STATE_phase || ''}`);
fs.appendFileSync(process.env.GITHUB_STATE, `phase<<X\\n${phase}\\nX\\n`);
fs.appendFileSync(process.env.GITHUB_OUTPUT, `from=${phase}\\n`);
if (process.env.INPUT_FAIL === phase) process.exit(1);
"""
JAVASCRIPT = """
name: js
inputs:
  who: {default: "${{ github.actor }}"}
  fail: {required: false}
runs: {using: node20, pre: pre.js, main: main.js, post: post.js}
"""


def mirror(root: Path) -> ActionServices:
    """A folder with the action ``acme/js@v1`` and a composite one that uses it twice."""
    folder = root / "mirror/acme/js@v1"
    folder.mkdir(parents=True)
    (folder / "action.yml").write_text(JAVASCRIPT)
    for phase in ("pre", "main", "post"):
        (folder / f"{phase}.js").write_text(SCRIPT % phase)
    both = root / "mirror/acme/both@v1"
    both.mkdir(parents=True)
    (both / "action.yml").write_text(
        """
name: both
inputs: {fail: {default: ""}}
runs:
  using: composite
  steps:
    - uses: acme/js@v1
      with: {who: first, fail: "${{ inputs.fail }}"}
    - uses: acme/js@v1
      with: {who: second}
"""
    )
    return ActionServices(
        runner_name="bench", mirrors=(f"{root}/mirror/{{owner}}/{{repo}}@{{ref}}",), cache=str(root / "cache")
    )


def test_composite_actions_keep_to_themselves(tmp_path: Path) -> None:
    job = program(
        """
        - uses: ./actions/greet
          id: greet
          with: {who: ann}
          env: {OUTER: o}
        - run: echo "[${{ steps.greet.outputs.said }}][${{ steps.say.outputs.text }}][$INNER][$OUTER]"
        """
    )
    found = ran(tmp_path, order(job), {"actions/greet/action.yml": GREET})
    assert found.result.conclusion == "succeeded", found.log
    assert found.said == ["hello ann from greet", "inner 1 o", "[hi ann][][1][]"]


def test_status_inside_a_composite_action_is_its_own(tmp_path: Path) -> None:
    job = program(
        """
        - run: exit 1
        - uses: ./own
          if: always()
        - run: echo "job ${{ job.status }}"
          if: failure()
        """
    )
    own = """
name: own
runs:
  using: composite
  steps:
    - {shell: bash, run: echo runs}
    - {shell: bash, run: exit 2}
    - {shell: bash, run: echo not}
    - {shell: bash, run: echo cleaned, if: failure()}
"""
    found = ran(tmp_path, order(job), {"own/action.yml": own})
    assert found.said == ["runs", "cleaned", "job failure"]
    assert found.steps["Run ./own"] == "failed"


@needs_node
def test_javascript_actions_run_before_among_and_after_the_steps(tmp_path: Path) -> None:
    job = program(
        """
        - uses: acme/js@v1
          id: one
        - uses: acme/js@v1
          name: Second
          with: {who: bob}
        - run: echo "${{ steps.one.outputs.from }}"
        - run: exit 1
        """
    )
    found = ran(tmp_path, order(job, services=mirror(tmp_path)))
    assert found.said == [
        f"Action acme/js@v1 from {tmp_path}/mirror/{{owner}}/{{repo}}@{{ref}}",
        "Action acme/js@v1 from cache" if "from cache" in found.log else found.said[1],
        "pre who=ann state=",
        "pre who=bob state=",
        "main who=ann state=pre",
        "main who=bob state=pre",
        "main",
        "post who=bob state=main",
        "post who=ann state=main",
    ]
    assert [name for name in found.steps if name.startswith(("Pre", "Post"))] == [
        "Pre Run acme/js@v1",
        "Pre Second",
        "Post Second",
        "Post Run acme/js@v1",
    ]


@needs_node
def test_nested_actions_have_their_posts_too(tmp_path: Path) -> None:
    job = program("- {uses: acme/both@v1, with: {fail: main}}")
    found = ran(tmp_path, order(job, services=mirror(tmp_path)))
    lines = [line for line in found.said if line.startswith(("pre", "main", "post"))]
    assert lines == [
        "pre who=first state=",
        "pre who=second state=",
        "main who=first state=pre",
        "post who=second state=pre",
        "post who=first state=main",
    ]
    assert found.steps == {
        "Set up job": "succeeded",
        "Pre Run acme/both@v1": "succeeded",
        "Run acme/both@v1": "failed",
        "Post Run acme/both@v1": "succeeded",
        "Complete job": "succeeded",
    }


REFUSED = [
    ("- uses: acme/none@v1", "configuration", "action_not_found"),
    ("- uses: docker://alpine:3", "configuration", "docker_unavailable"),
    ("- uses: ./nowhere", "configuration", "action_not_found"),
    ("- {run: x, shell: cmd}", "configuration", "shell_unavailable"),
    ("- {run: x, working-directory: ../..}", "step_failed", ""),
]


@pytest.mark.parametrize(("written", "cause", "detail"), REFUSED, ids=[case[0] for case in REFUSED])
def test_what_cannot_run_says_so(tmp_path: Path, written: str, cause: str, detail: str) -> None:
    found = ran(tmp_path, order(program(written)))
    assert (found.result.conclusion, found.result.cause, found.result.detail) == ("failed", cause, detail), found.log


def test_containers_are_refused_before_anything_runs(tmp_path: Path) -> None:
    found = ran(tmp_path, order(program("- run: echo no", container="alpine")))
    assert (found.result.cause, found.result.detail) == ("configuration", "docker_unavailable")
    assert found.steps["Run echo no"] == "skipped"


def test_the_built_in_checkout_brings_the_working_tree(tmp_path: Path) -> None:
    source = tmp_path / "tree"
    source.mkdir()
    (source / "file").write_text("not committed\n")
    services = ActionServices(runner_name="bench", source=str(source))
    found = ran(
        tmp_path / "attempts", order(program("- uses: actions/checkout@v4\n- run: cat file"), services=services)
    )
    assert found.result.conclusion == "succeeded", found.log
    assert found.said[-1] == "not committed"
