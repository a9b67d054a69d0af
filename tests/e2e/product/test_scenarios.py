"""Plays every scenario against one real installation and compares what the person sees with what is stored."""

import re
from typing import Any

import pytest

from tests.e2e.product.scenario import Expected, Scenario, load, names
from tests.parts.installation import Finished, Installation

_RUN = re.compile(r"run_[0-9a-z]{26}")


@pytest.mark.parametrize("name", names())
def test_scenario(site: Installation, name: str) -> None:
    scenario = load(name)
    finished = _played(site, scenario)
    expected = scenario.expected
    assert finished.status == expected.exit, finished
    found = _RUN.search(finished.err + finished.out)
    assert found is not None, finished
    job_id = site.get(f"/api/v1/runs/{found[0]}")["jobs"][0]["id"]
    job = site.until_ended(job_id)
    _check_ending(job, expected)
    _check_log(site.log(job_id), finished, expected)
    for text in expected.stderr:
        assert text in finished.err
    if expected.json is not None:
        assert {key: finished.json[key] for key in expected.json} == expected.json


def _played(site: Installation, scenario: Scenario) -> Finished:
    for name, text in scenario.files.items():
        (site.directory / name).write_text(text, encoding="utf-8")
    if scenario.spec is not None:
        run = site.post("/api/v1/runs", {"spec": scenario.spec})
        return site.ostler("run", "watch", run["id"])
    return site.ostler("job", "submit", *scenario.submit, stdin=scenario.stdin, env=scenario.environment)


def _check_ending(job: Any, expected: Expected) -> None:  # noqa: ANN401 - as the API shows it
    failure = job.get("failure", {})
    assert job["state"] == expected.state, job
    assert failure.get("cause", "") == expected.cause, job
    assert failure.get("detail", "") == expected.detail, job
    assert expected.evidence in failure.get("evidence", ""), job
    assert expected.steps is None or [step["state"] for step in job["steps"]] == expected.steps
    assert not expected.name or job["name"] == expected.name


def _check_log(log: str, finished: Finished, expected: Expected) -> None:
    if expected.log is not None:
        assert log == expected.log
        if expected.json is None:
            assert finished.out.removesuffix("\n") == expected.log.removesuffix("\n")
    assert expected.log_lines is None or log.count("\n") == expected.log_lines
    assert log.endswith(expected.log_ends)
