"""What comes with an event: typed inputs, the ``github`` context, names of runs, and what a job may take from them."""

import msgspec
import pytest

from ostler.domain.machine import Refused
from ostler.protocol.v1.program import Scalar
from ostler.workflow.model import Trigger
from ostler.workflow.run.github import Facts, default_run_name, github_context, ref_name
from ostler.workflow.run.happenings import Approved
from ostler.workflow.run.inputs import dispatch_inputs, event_inputs
from ostler.workflow.run.state import RunPhase
from tests.unit.workflow.run.driven import GIVEN, driven, plan_of, workflow_of

DISPATCH = """
    on:
      workflow_dispatch:
        inputs:
          text: {default: d}
          level: {type: choice, options: [low, high], default: low}
          dry: {type: boolean}
          count: {type: number, default: 2}
          where: {type: environment}
          must: {required: true, type: string}
    jobs: {a: {STEPS}}
"""


def trigger() -> Trigger:
    found = workflow_of(DISPATCH).trigger("workflow_dispatch")
    assert found is not None
    return found


def test_inputs_keep_their_types_and_the_event_has_text() -> None:
    """Trap 28."""
    inputs = dispatch_inputs(trigger(), {"MUST": "m", "dry": "true", "count": "1.50"})
    assert not isinstance(inputs, Refused)
    assert inputs == {"text": "d", "level": "low", "dry": True, "count": 1.5, "where": "", "must": "m"}
    assert event_inputs(inputs) == {
        "text": "d",
        "level": "low",
        "dry": "true",
        "count": "1.5",
        "where": "",
        "must": "m",
    }


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, "input_missing"),
        ({"must": ""}, "input_missing"),
        ({"must": "m", "extra": "x"}, "input_unknown"),
        ({"must": "m", "dry": "yes"}, "input_wrong"),
        ({"must": "m", "count": "many"}, "input_wrong"),
        ({"must": "m", "count": ".nan"}, "input_wrong"),
        ({"must": "m", "level": "LOW"}, "input_wrong"),
        ({"must": "m", "count": True}, "input_wrong"),
    ],
)
def test_wrong_inputs(given: dict[str, Scalar], code: str) -> None:
    refused = dispatch_inputs(trigger(), given)
    assert isinstance(refused, Refused)
    assert refused.code == code


FACTS = Facts(
    event_name="push",
    event={"head_commit": {"message": "Mend it\n\nlong"}},
    repository="ada/engine",
    ref="refs/tags/v1",
    sha="c0ffee",
    actor="ada",
    workflow="CI",
    path=".github/workflows/ci.yml",
    run_id="run_1",
    run_number=7,
    server_url="https://git.example/",
)


def test_the_github_context() -> None:
    github = github_context(FACTS)
    assert github | {"event": None} == {
        "event_name": "push",
        "event": None,
        "ref": "refs/tags/v1",
        "ref_name": "v1",
        "ref_type": "tag",
        "ref_protected": False,
        "base_ref": "",
        "head_ref": "",
        "sha": "c0ffee",
        "actor": "ada",
        "actor_id": "",
        "triggering_actor": "ada",
        "repository": "ada/engine",
        "repository_id": "",
        "repository_owner": "ada",
        "repository_owner_id": "",
        "repositoryUrl": "git://git.example/ada/engine.git",
        "server_url": "https://git.example",
        "api_url": "https://git.example/api/v3",
        "graphql_url": "https://git.example/api/graphql",
        "run_id": "run_1",
        "run_number": "7",
        "run_attempt": "1",
        "workflow": "CI",
        "workflow_ref": "ada/engine/.github/workflows/ci.yml@refs/tags/v1",
        "workflow_sha": "c0ffee",
        "retention_days": "90",
        "secret_source": "Actions",
    }
    assert github_context(msgspec.structs.replace(FACTS, server_url="https://github.com"))["graphql_url"] == (
        "https://api.github.com/graphql"
    )


def test_short_names_of_refs() -> None:
    names = [ref_name(ref) for ref in ("refs/heads/a/b", "refs/tags/v1", "refs/pull/3/merge", "main")]
    assert names == ["a/b", "v1", "3/merge", "main"]


def test_names_of_runs() -> None:
    assert default_run_name(github_context(FACTS)) == "Mend it"
    pull = github_context(msgspec.structs.replace(FACTS, event={"pull_request": {"title": "Add"}}))
    assert default_run_name(pull) == "Add"
    assert default_run_name(github_context(msgspec.structs.replace(FACTS, event={}))) == "CI"
    assert plan_of("on: push\nrun-name: by ${{ github.actor }}\njobs: {a: {STEPS}}").name == "by ada"
    assert plan_of("on: push\nrun-name: ' ${{ github.none }} '\njobs: {a: {STEPS}}").name == "W"


def test_a_run_that_must_be_approved_waits_for_that() -> None:
    run = driven("on: push\njobs: {a: {STEPS}}", msgspec.structs.replace(GIVEN, approved=False))
    assert (run.effects, run.state.phase) == ([], RunPhase.HELD)
    run.tell(Approved())
    assert run.started() == ["a"]
    held = driven("on: push\njobs: {a: {STEPS}}", msgspec.structs.replace(GIVEN, approved=False))
    held.cancel()
    assert held.conclusion == "cancelled"


def test_what_a_runner_is_given() -> None:
    given = msgspec.structs.replace(GIVEN, vars={"REGION": "eu"}, inputs={"x": True}, debug=True, clone_url="file:///r")
    run = driven(
        """
        on: push
        env: {A: 1}
        defaults: {run: {shell: bash, working-directory: w}}
        jobs:
          a:
            runs-on: {group: 'g-${{ vars.REGION }}', labels: [big, '${{ vars.REGION }}']}
            timeout-minutes: ${{ fromJSON('1.5') }}
            environment: {name: '${{ vars.REGION }}', url: '${{ steps.s.outputs.url }}'}
            env: {B: '${{ secrets.X }}'}
            defaults: {run: {shell: sh}}
            outputs: {o: '${{ steps.s.outputs.o }}'}
            steps: [{id: s, run: 'true'}]
          b: {runs-on: '${{ fromJSON(''{"group": "h", "labels": "l"}'') }}', environment: '', steps: [{run: 'true'}]}
        """,
        given,
    )
    job = run.job("a")
    assert (job.labels, job.group, job.timeout_ms, job.cancel_timeout_ms) == (("big", "eu"), "g-eu", 90_000, 300_000)
    assert (job.environment, job.environment_url) == ("eu", "${{ steps.s.outputs.url }}")
    program = job.program
    assert (program.env, program.defaults.shell, program.defaults.working_directory) == (
        [{"A": 1.0}, {"B": "${{ secrets.X }}"}],
        "sh",
        "w",
    )
    assert (program.vars, program.inputs, program.debug) == ({"REGION": "eu"}, {"x": True}, True)
    assert (program.clone_url, program.environment_url) == ("file:///r", "${{ steps.s.outputs.url }}")
    assert (run.job("b").labels, run.job("b").group, run.job("b").environment) == (("l",), "h", "")


@pytest.mark.parametrize(
    ("keys", "note"),
    [
        ("runs-on: '${{ github.none }}'", "runs-on: it names no runner"),
        ("runs-on: '${{ fromJSON(''[1]'') }}'", "runs-on: a label is empty or no text"),
        ("runs-on: ['x', '${{ github.none }}']", "runs-on: a label is empty or no text"),
        ("runs-on: '${{ github.none.x && (1) || nothing }}'", "runs-on: there is no context 'nothing' here"),
        ("runs-on: x, timeout-minutes: '${{ ''5'' }}'", "timeout-minutes: '5' is no number"),
        ("runs-on: x, timeout-minutes: 0", "timeout-minutes: it must be more than 0"),
        ("runs-on: x, continue-on-error: '${{ matrix.no }}'", "continue-on-error: nothing is neither true nor false"),
        ("runs-on: x, environment: '${{ github.event }}'", ""),
    ],
)
def test_jobs_that_cannot_be_settled(keys: str, note: str) -> None:
    run = driven(f"on: push\njobs: {{a: {{{keys}, steps: [{{run: 'true'}}]}}}}")
    assert run.node("a").note == note
    assert run.conclusion == ("failure" if note else "")
