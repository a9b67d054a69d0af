"""Sentences and durations as people read them."""

import pytest

from ostler.domain.cause import Cause, Failure
from ostler.domain.job import JobState
from ostler.domain.run import RunState
from ostler.domain.runner import Admission, RunnerStatus
from ostler.domain.step import StepState
from ostler.protocol.v1.fleet_messages import RunnerView
from ostler.protocol.v1.run_messages import StepView
from ostler.server.pages import wording
from ostler.server.pages.rendering import duration, prose


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, ""),
        (0, "0ms"),
        (999, "999ms"),
        (1500, "1.5s"),
        (61_000, "1m 1s"),
        (3_600_000, "1h 0m"),
        (90_000_000, "1d 1h"),
    ],
)
def test_durations(milliseconds: int | None, text: str) -> None:
    assert duration(milliseconds) == text


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("pool `gpu` is disabled", "Pool <code>gpu</code> is disabled."),
        ("`a<b>` waits", "<code>a&lt;b&gt;</code> waits."),
        ("<b>bold</b>", "&lt;b&gt;bold&lt;/b&gt;."),
        ("one ` alone", "One ` alone."),
        ("did you mean `vm-1`?", "Did you mean <code>vm-1</code>?"),
        ("", ""),
    ],
)
def test_sentences_are_escaped_and_their_names_are_code(said: str, shown: str) -> None:
    assert str(prose(said)) == shown


def test_every_state_has_a_word() -> None:
    assert set(wording.RUN) == set(RunState)
    assert set(wording.JOB) == set(JobState)
    assert set(wording.STEP) == set(StepState)


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_is_told(cause: Cause) -> None:
    told = wording.failure_problem(Failure(cause, "disk_full", "no space left on /"), [])
    assert told.title
    assert told.cause == "No space left on /. Disk full."
    assert told.code == cause.value


def test_a_failure_without_evidence_names_the_step() -> None:
    steps = [StepView(0, "Build", StepState.SUCCEEDED, exit_code=0), StepView(1, "Test", StepState.FAILED, exit_code=3)]
    assert wording.failure_problem(Failure(Cause.STEP_FAILED), steps).cause == "Test exited with 3."


@pytest.mark.parametrize("admission", list(Admission))
@pytest.mark.parametrize("status", list(RunnerStatus))
def test_a_runner_is_what_was_decided_about_it_unless_it_is_gone(status: RunnerStatus, admission: Admission) -> None:
    view = RunnerView("rnr_1", "one", "pool_1", "hosted", status, admission)
    shown = wording.runner(view).label
    if status in (RunnerStatus.OFFLINE, RunnerStatus.RETIRED) or admission is Admission.ACTIVE:
        assert shown.lower() == status.value
    else:
        assert shown.lower() == admission.value


def test_a_list_says_why_a_run_failed_in_whole_sentences() -> None:
    told = wording.short_failure(Failure(Cause.STEP_FAILED, evidence="step test ended with code 3"))
    assert told == "A step failed. Step test ended with code 3."
    assert wording.short_failure(Failure(Cause.STEP_FAILED)) == "A step failed."
