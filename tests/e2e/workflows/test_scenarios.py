"""Plays every scenario of this folder through `ostler run` and compares what it tells with what is documented."""

import re
import shutil
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.e2e.workflows.played import Played
from tests.e2e.workflows.scenario import Expected, load, names
from tests.e2e.workflows.stage import Stage


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("workflows")) as opened:
        items = [item for item in request.session.items if isinstance(item, pytest.Function)]
        chosen = [item.callspec.params.get("name") for item in items if hasattr(item, "callspec")]
        opened.announce([name for name in names() if name in chosen and _playable(name)])
        yield opened


def _playable(name: str) -> bool:
    return not load(name).node or shutil.which("node") is not None


@pytest.mark.parametrize("name", names())
def test_scenario(stage: Stage, name: str) -> None:
    if not _playable(name):
        pytest.skip("there is no node in PATH")
    expected = load(name).expected
    played = stage.play(name)
    assert played.code == expected.exit, played
    _check_refusal(played, expected)
    _check_jobs(played, expected)
    _check_steps(played, expected)
    _check_logs(played, expected)
    _check_traces(played, expected)


def test_no_two_scenarios_say_the_same() -> None:
    told: dict[str, str] = {}
    for name in names():
        scenario = load(name)
        assert scenario.about not in told, f"{name} and {told[scenario.about]} prove the same"
        assert scenario.docs, name
        assert msgspec.structs.asdict(scenario.expected) != msgspec.structs.asdict(Expected()), f"{name} cannot fail"
        told[scenario.about] = name
    assert len(told) >= 150


def _check_refusal(played: Played, expected: Expected) -> None:
    for part in expected.error:
        assert part in played.error, played
    for part in expected.findings:
        assert part in played.said, played
    if expected.error or expected.findings:
        assert not played.runs, played
    for part in expected.anywhere:
        assert part in played.everything(), played
    for part in expected.notices:
        assert any(part in notice for notice in played.notices), played


def _check_jobs(played: Played, expected: Expected) -> None:
    if expected.workflows is not None:
        assert [run.workflow for run in played.runs] == expected.workflows, played
    if expected.name:
        assert [run.name for run in played.runs] == [expected.name]
    if expected.jobs is not None:
        assert {job: ended.conclusion for job, ended in played.jobs.items()} == expected.jobs, played
    if expected.names is not None:
        assert {job: ended.name for job, ended in played.jobs.items()} == expected.names, played
    for job, outputs in expected.outputs.items():
        assert played.jobs[job].outputs == outputs, played


def _check_steps(played: Played, expected: Expected) -> None:
    for job, steps in expected.steps.items():
        for key, wanted in steps.items():
            step = played.step(job, key)
            outcome, _, conclusion = wanted.partition(">")
            assert (step.outcome, step.conclusion) == (outcome, conclusion or outcome), (key, played)
    for job, codes in expected.codes.items():
        assert {key: played.step(job, key).exit_code for key in codes} == codes, played


def _check_logs(played: Played, expected: Expected) -> None:
    for job, wanted in expected.log.items():
        assert _in_order(wanted, played.log(job)), (wanted, played)
    assert _in_order(expected.order, [line.text for line in played.lines]), played
    for job, unwanted in expected.lacks.items():
        assert not set(unwanted) & set(played.log(job)), played
    for job, parts in expected.shows.items():
        assert all(part in "\n".join(played.log(job)) for part in parts), played
    for job, parts in expected.hides.items():
        assert played.log(job), played
        assert not any(part in "\n".join(played.log(job)) for part in parts), played
    for job, patterns in expected.counts.items():
        log = played.log(job)
        assert {each: sum(bool(re.fullmatch(each, line)) for line in log) for each in patterns} == patterns


def _in_order(wanted: list[str], lines: list[str]) -> bool:
    rest = iter(lines)
    return all(each in rest for each in wanted)


def _check_traces(played: Played, expected: Expected) -> None:
    for job, wanted in expected.annotations.items():
        found: list[dict[str, Any]] = [
            msgspec.to_builtins(remark) for step in played.steps if step.job == job for remark in step.annotations
        ]
        shown = [{key: remark.get(key, 0) for key in each} for remark, each in zip(found, wanted, strict=False)]
        assert len(found) == len(wanted), (found, played)
        assert shown == wanted
    for job, lines in expected.summary.items():
        written = [line for step in played.steps if step.job == job for line in step.summary.splitlines()]
        assert written == lines, played
    if expected.artifacts is not None:
        assert played.artifacts() == expected.artifacts, played
