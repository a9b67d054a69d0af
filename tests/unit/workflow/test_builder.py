"""Building: what a file says arrives in the typed tree, with the language's own defaults."""

from ostler.protocol.v1.program import Container, Defaults, Step
from ostler.workflow.action_model import ActionInput, CompositeRuns, DockerRuns, NodeRuns
from ostler.workflow.check import check_action, check_workflow
from ostler.workflow.model import (
    Concurrency,
    Deployment,
    Input,
    Job,
    RunsOn,
    Schedule,
    Strategy,
    Trigger,
    Workflow,
)

_WHOLE = """
name: CI
run-name: by ${{ github.actor }}
on:
  push: {branches: main, tags: [v*]}
  pull_request: {types: [opened]}
  schedule: [{cron: '0 4 * * *'}, {cron: '0 5 * * *', timezone: Europe/Rome}]
  workflow_dispatch:
    inputs:
      level: {type: choice, options: [a, b], default: a, required: true, description: how}
  workflow_call:
    inputs: {count: {type: number, default: 3}}
    secrets: {token: {required: true}, other: }
    outputs: {out: {value: '${{ jobs.build.outputs.o }}'}}
env: {A: 1, B: true, C: x}
defaults: {run: {shell: bash}}
concurrency: {group: g, cancel-in-progress: true}
permissions: {contents: read}
jobs:
  build:
    name: Build
    needs: []
    if: github.ref == 'x'
    runs-on: [self-hosted, linux]
    environment: {name: prod, url: 'https://x'}
    strategy:
      matrix: {os: [1, x], include: [{os: y, extra: {a: 1}}]}
      fail-fast: false
      max-parallel: 2
    timeout-minutes: 10
    continue-on-error: ${{ matrix.os == 'x' }}
    container: {image: node, credentials: {username: u, password: p}, ports: [80], env: {X: 1}}
    services: {db: postgres, cache: {image: redis, command: x}}
    outputs: {o: '${{ steps.s.outputs.o }}'}
    steps:
      - id: s
        name: 3.10
        run: make
        working-directory: a
        env: {V: 2}
        timeout-minutes: 1.5
      - uses: a/b@v1
        with: {x: 1, y: false}
      - {run: x, background: true, id: bg}
      - wait: bg
      - wait-all:
      - cancel: bg
      - parallel: [{run: a}, {run: b}]
  call:
    needs: build
    uses: ./.github/workflows/x.yml
    with: {a: 1}
    secrets: inherit
  passed:
    runs-on: {group: large, labels: x}
    needs: [build, call]
    steps: [run: x]
"""


def _built(text: str) -> Workflow:
    checked = check_workflow("ci.yml", text)
    assert checked.errors == ()
    assert checked.workflow is not None
    return checked.workflow


def test_the_head_of_a_workflow() -> None:
    """Names, events, and what holds for all jobs."""
    workflow = _built(_WHOLE)
    assert (workflow.name, workflow.run_name) == ("CI", "by ${{ github.actor }}")
    assert workflow.trigger("push") == Trigger(event="push", lists={"branches": ("main",), "tags": ("v*",)})
    assert workflow.trigger("pull_request") == Trigger(event="pull_request", types=("opened",))
    schedule = workflow.trigger("schedule")
    assert schedule is not None
    assert schedule.schedules == (Schedule(cron="0 4 * * *"), Schedule(cron="0 5 * * *", timezone="Europe/Rome"))
    dispatch = workflow.trigger("workflow_dispatch")
    assert dispatch is not None
    assert dispatch.inputs == {
        "level": Input(type="choice", required=True, default="a", description="how", options=("a", "b"))
    }
    called = workflow.trigger("workflow_call")
    assert called is not None
    assert called.inputs == {"count": Input(type="number", default=3.0)}
    assert [(name, secret.required) for name, secret in called.secrets.items()] == [("token", True), ("other", False)]
    assert called.outputs["out"].value == "${{ jobs.build.outputs.o }}"
    assert workflow.env == {"A": 1.0, "B": True, "C": "x"}
    assert workflow.defaults == Defaults("bash")
    assert workflow.concurrency == Concurrency(group="g", cancel_in_progress=True)
    assert workflow.permissions == {"contents": "read"}


def test_a_job() -> None:
    """Every key of a job arrives."""
    job = _built(_WHOLE).job("build")
    assert job is not None
    assert job.runs_on == RunsOn(labels=("self-hosted", "linux"))
    assert job.environment == Deployment(name="prod", url="https://x")
    assert job.strategy == Strategy(
        matrix={"os": [1.0, "x"], "include": [{"os": "y", "extra": {"a": 1.0}}]}, fail_fast=False, max_parallel=2.0
    )
    assert (job.timeout_minutes, job.continue_on_error, job.if_) == (
        10.0,
        "${{ matrix.os == 'x' }}",
        "github.ref == 'x'",
    )
    assert job.container == Container(image="node", username="u", password="p", ports=["80"], env={"X": 1.0})
    assert job.services == {"db": Container(image="postgres"), "cache": Container(image="redis", command="x")}
    assert job.outputs == {"o": "${{ steps.s.outputs.o }}"}


def test_steps() -> None:
    """Numbers lose their zeros where text is asked for, and know their type elsewhere."""
    job = _built(_WHOLE).job("build")
    assert job is not None
    assert job.steps[0] == Step(
        id="s",
        name="3.1",
        run="make",
        working_directory="a",
        env={"V": 2.0},
        timeout_minutes=1.5,
        line=job.steps[0].line,
    )
    assert job.steps[1].with_ == {"x": 1.0, "y": False}
    assert (job.steps[2].background, job.steps[3].wait, job.steps[4].wait_all, job.steps[5].cancel) == (
        True,
        ["bg"],
        True,
        "bg",
    )
    assert [step.run for step in job.steps[6].parallel or []] == ["a", "b"]


def test_a_call_and_a_group() -> None:
    """A job that calls a workflow, and one that asks for a group of runners."""
    workflow = _built(_WHOLE)
    assert workflow.job("call") == Job(
        id="call", needs=("build",), uses="./.github/workflows/x.yml", with_={"a": 1.0}, secrets="inherit", line=49
    )
    passed = workflow.job("passed")
    assert passed is not None
    assert passed.runs_on == RunsOn(labels=("x",), group="large")
    assert passed.needs == ("build", "call")


def test_templates_stand_for_whole_values() -> None:
    """Where an expression may yield the whole value, it stays as it was written."""
    text = """
on: [push]
jobs:
  a:
    runs-on: ${{ fromJSON('["x"]') }}
    strategy: {matrix: '${{ fromJSON(vars.M) }}', fail-fast: '${{ true }}', max-parallel: '${{ 2 }}'}
    env: ${{ fromJSON('{}') }}
    container: ${{ matrix.image }}
    services: ${{ fromJSON('{}') }}
    timeout-minutes: ${{ fromJSON('3') }}
    steps: [{uses: a/b@v1, with: '${{ fromJSON(vars.W) }}'}]
"""
    job = _built(text).jobs[0]
    assert job.runs_on.labels == "${{ fromJSON('[\"x\"]') }}"
    assert job.strategy == Strategy(matrix="${{ fromJSON(vars.M) }}", fail_fast="${{ true }}", max_parallel="${{ 2 }}")
    assert (job.env, job.services) == ("${{ fromJSON('{}') }}", "${{ fromJSON('{}') }}")
    assert (job.container, job.timeout_minutes) == ("${{ matrix.image }}", "${{ fromJSON('3') }}")
    assert job.steps[0].with_ == "${{ fromJSON(vars.W) }}"


def test_actions() -> None:
    """The three kinds of actions."""
    composite = check_action(
        "action.yml",
        "name: a\ndescription: d\ninputs: {x: {default: 1, required: true}, y: }\noutputs: {o: {value: v}}\n"
        "runs: {using: composite, steps: [{run: x, shell: bash}]}",
    ).action
    assert composite is not None
    assert composite.inputs == {"x": ActionInput(required=True, default="1"), "y": ActionInput()}
    assert isinstance(composite.runs, CompositeRuns)
    assert composite.runs.steps[0].shell == "bash"
    node = check_action("action.yml", "{name: a, description: d, runs: {using: node24, main: x.js, post: y.js}}").action
    assert node is not None
    assert node.runs == NodeRuns(using="node24", main="x.js", post="y.js")
    docker = check_action(
        "action.yml", "{name: a, description: d, runs: {using: docker, image: Dockerfile, args: [1]}}"
    )
    assert docker.action is not None
    assert docker.action.runs == DockerRuns(image="Dockerfile", args=["1"])
