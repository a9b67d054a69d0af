"""Actions: composite ones, programs, what runs before and after, and what they see."""

from pathlib import Path

import pytest

from ostler.actions.engine.scope import Services
from tests.unit.actions.engine.driven import Driven

PROGRAM = """
    name: p
    description: d
    inputs:
      who: {default: "${{ github.actor }}"}
      two words: {default: x, deprecationMessage: use who}
    outputs: {o: {description: d}}
    runs: {using: node20, pre: pre.js, main: main.js, post: post.js, post-if: "${{ POSTIF }}"}
"""
SCRIPTS = {
    "p/pre.js": "say pre\nstate s=pre",
    "p/main.js": "show INPUT_WHO INPUT_TWO_WORDS INPUT_MORE STATE_s\nout o=made\nstate s=main",
    "p/post.js": "show INPUT_WHO STATE_s",
}


def program(post_if: str = "always()") -> dict[str, str]:
    return {"p/action.yml": PROGRAM.replace("POSTIF", post_if), **SCRIPTS}


def composite(steps: str, outputs: str = "", inputs: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in steps.strip("\n").split("\n"))
    return f"name: c\ninputs: {{{inputs}}}\noutputs: {{{outputs}}}\nruns:\n  using: composite\n  steps:\n{lines}\n"


def test_a_program_has_its_inputs_outputs_and_state(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - {uses: o/p@v1, id: p, with: {WHO: bob, "two words": y, more: "${{ github.actor == 'ann' }}"}}
        - run: say ${{ steps.p.outputs.o }}
        """,
        actions=program(),
    )
    assert job.said == ["pre", "bob y true pre", "made", "bob main"]
    assert (
        job.marked
        == [
            "##[warning]Input 'two words' has been deprecated with message: use who",
            "##[warning]Unexpected input(s) 'more', valid inputs are ['who', 'two words']",
        ]
        * 3
    )
    assert list(job.steps) == [
        "Set up job",
        "Pre Run o/p@v1",
        "Run o/p@v1",
        "Run say made",
        "Post Run o/p@v1",
        "Complete job",
    ]
    assert job.machine.commands[0].argv[0] == "/bin/sh"
    assert "ACTIONS_RUNTIME_TOKEN" not in job.machine.commands[0].environment


def test_programs_get_the_services_of_the_server_and_scripts_do_not(tmp_path: Path) -> None:
    services = Services(server="http://ostler.localhost:1/", token="t0ken", node={"node24": "/bin/sh"})
    job = Driven(tmp_path, "- uses: o/p@v1\n- run: say x", actions=program(), services=services)
    told, script = job.machine.commands[1].environment, job.machine.commands[2].environment
    assert told["ACTIONS_RUNTIME_TOKEN"] == "t0ken"
    assert told["ACTIONS_RESULTS_URL"] == told["ACTIONS_CACHE_URL"] == "http://ostler.localhost:1/"
    assert not any(name.startswith("ACTIONS_") for name in script)


def test_posts_run_in_reverse_and_after_a_failure(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - {uses: o/p@v1, name: one, with: {who: first}}
        - {uses: o/p@v1, name: two, with: {who: second}}
        - {uses: o/p@v1, name: never, if: false}
        - run: exit 1
        """,
        actions=program() | {"p/pre.js": "state s=pre"},
    )
    posts = [name for name in job.steps if name.startswith("Post")]
    assert posts == ["Post never", "Post two", "Post one"]
    assert job.said[-3:] == ["ann pre", "second main", "first main"]
    assert job.end.status == "failure"


@pytest.mark.parametrize(("condition", "runs"), [("success()", False), ("failure()", True), ("always()", True)])
def test_a_post_has_a_condition_over_the_job(tmp_path: Path, condition: str, runs: bool) -> None:
    job = Driven(tmp_path, "- uses: o/p@v1\n- run: exit 1", actions=program(condition))
    assert job.steps["Post Run o/p@v1"] == ("succeeded" if runs else "skipped")


def test_a_composite_action_sees_its_inputs_and_not_the_outer_steps(tmp_path: Path) -> None:
    inner = composite(
        """
- {id: s, shell: sh, run: "out x=1"}
- shell: sh
  env: {MINE: m}
  run: |
    say ${{ inputs.a }} [${{ steps.outer.outputs.x }}] ${{ steps.s.outputs.x }} ${{ github.action }}
    say ${{ github.action_repository }} ${{ github.action_ref }}
    show INPUT_A OUTER MINE GITHUB_ACTION_PATH
""",
        outputs='o: {value: "${{ steps.s.outputs.x }}-${{ inputs.a }}"}',
        inputs="a: {default: dflt}",
    )
    job = Driven(
        tmp_path,
        """
        - {id: outer, run: out x=9}
        - {uses: o/c@v2, id: c, env: {OUTER: o}}
        - run: say ${{ steps.c.outputs.o }} [${{ steps.s }}]
        """,
        actions={"c/action.yml": inner},
    )
    assert job.said == ["dflt [] 1 __run", "o/c v2", f"- o m {tmp_path}/actions/c", "1-dflt []"]


def test_the_status_inside_is_the_actions_own(tmp_path: Path) -> None:
    inner = composite(
        """
- {shell: sh, run: "say ${{ github.action_status }}"}
- {shell: sh, run: exit 1}
- {shell: sh, run: say no}
- {shell: sh, run: say cleaned, if: failure()}
- {shell: sh, run: say forgiven, if: always(), continue-on-error: true}
"""
    )
    job = Driven(
        tmp_path,
        """
        - run: exit 1
        - {uses: o/c@v1, if: always(), continue-on-error: true, name: it}
        - {run: say after, if: always()}
        """,
        actions={"c/action.yml": inner},
    )
    assert job.said == ["success", "cleaned", "forgiven", "after"]
    assert (job.step("it").outcome, job.step("it").conclusion) == ("failed", "succeeded")


def test_forgiven_failures_inside_do_not_fail_the_action(tmp_path: Path) -> None:
    inner = composite("- {shell: sh, run: exit 1, continue-on-error: true}\n- {shell: sh, run: say on}")
    job = Driven(tmp_path, "- {uses: o/c@v1, name: it}", actions={"c/action.yml": inner})
    assert (job.said, job.steps["it"]) == (["on"], "succeeded")


def test_secrets_are_not_seen_inside(tmp_path: Path) -> None:
    inner = "name: c\nruns:\n  using: composite\n  steps:\n  - {shell: sh, run: 'say ${{ inputs.s }}', name: n}\n"
    inner += "inputs: {s: {default: none}}\n"
    job = Driven(
        tmp_path,
        "- {uses: o/c@v1, with: {s: '${{ secrets.A }}'}}",
        actions={"c/action.yml": inner},
        secrets={"A": "shh!"},
    )
    assert job.said == ["***"]


def test_actions_of_the_workspace_are_loaded_when_they_are_reached(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        "- run: until there\n- {uses: ./late, name: it}",
        actions=program(),
    )
    folder = Path(job.machine.layout.workspace) / "late"
    folder.mkdir()
    (folder / "action.yml").write_text(composite("- uses: o/p@v1\n- {shell: sh, run: say here}"))
    job.machine.release("there")
    assert job.said == ["ann x - -", "here", "ann main"]
    assert list(job.steps)[-2:] == ["Post it", "Complete job"]


def test_a_folder_may_hold_an_action_for_each_path(tmp_path: Path) -> None:
    job = Driven(
        tmp_path, "- uses: o/c/sub/dir@main", actions={"c/sub/dir/action.yaml": composite("- {shell: sh, run: say it}")}
    )
    assert job.said == ["it"]


def test_cancelling_reaches_inside(tmp_path: Path) -> None:
    inner = composite(
        """
- {shell: sh, run: until ever}
- {shell: sh, run: say no}
- {shell: sh, run: say cleaned, if: always()}
"""
    )
    job = Driven(tmp_path, "- {uses: o/c@v1, name: it}\n- run: say no", actions={"c/action.yml": inner})
    job.cancel()
    assert (job.said, job.steps["it"], job.end.status) == (["cleaned"], "cancelled", "cancelled")


REFUSED = [
    ("uses: o/none@v1", "action_not_found"),
    ("uses: docker://alpine", "docker_unavailable"),
    ("uses: o/d@v1", "docker_unavailable"),
    ("uses: ./none", "action_not_found"),
    ("uses: o/bad@v1", "action_malformed"),
    ("uses: o/loop@v1", "action_too_deep"),
    ("uses: ./around", "action_not_found"),
]


@pytest.mark.parametrize(("step", "code"), REFUSED, ids=[case[0] for case in REFUSED])
def test_refusals(tmp_path: Path, step: str, code: str) -> None:
    job = Driven(
        tmp_path,
        f"- {step}\n- run: say no",
        actions={
            "d/action.yml": "name: d\ndescription: d\nruns: {using: docker, image: Dockerfile}",
            "bad/action.yml": "runs: {using: node20, main: x",
            "loop/action.yml": composite("- uses: o/loop@v1"),
        },
        files={"around/action.yml": composite("- uses: ./missing")},
    )
    assert job.end.status == "failure"
    assert job.end.failure is not None
    assert job.end.failure.fault == code
    assert job.said == []


def test_no_node_is_said_plainly(tmp_path: Path) -> None:
    job = Driven(tmp_path, "- uses: o/p@v1", actions=program(), services=Services(), base={"PATH": str(tmp_path)})
    assert job.end.failure is not None
    assert job.end.failure.fault == "node_unavailable"


def test_containers_need_another_runner(tmp_path: Path) -> None:
    job = Driven(tmp_path, "- {run: say no, name: it}", services=None, container="alpine")
    assert job.end.failure is not None
    assert (job.end.failure.fault, job.steps["it"]) == ("docker_unavailable", "skipped")
