"""Cancelling a run: what goes on, what ends, and in which way."""

from ostler.workflow.run.effects import CancelJob, RunEnded
from ostler.workflow.run.happenings import CancelAsked, JobEnded, JobStarted
from ostler.workflow.run.state import NodeState
from tests.unit.workflow.run.driven import driven

WORKFLOW = """
    on: push
    jobs:
      a: {STEPS}
      b: {if: always(), STEPS}
      c: {if: '!cancelled()', STEPS}
      d: {needs: a, STEPS}
      e: {needs: [a, b], if: cancelled(), STEPS}
      f: {needs: a, if: always(), STEPS}
"""


def test_jobs_whose_condition_still_holds_go_on() -> None:
    run = driven(WORKFLOW)
    run.tell(JobStarted("a"))
    run.cancel()
    assert run.cancelled() == ["a", "c"]
    assert run.node("a").state is NodeState.CANCELLING
    assert run.node("b").state is NodeState.QUEUED
    run.end("a", "c", result="cancelled")
    assert run.started() == ["a", "b", "c", "f"]
    assert run.node("d").conclusion == "skipped"
    run.end("b")
    assert run.started()[-1] == "e"
    run.end("e", "f")
    assert run.conclusion == "cancelled"
    assert run.of(RunEnded)[0].note == "asked by ada"


def test_what_would_have_run_is_cancelled_not_skipped() -> None:
    """Otherwise a run whose last running job succeeds nevertheless would pass without the others."""
    run = driven(
        WORKFLOW.rstrip()
        + "\n      g: {needs: a, if: failure(), STEPS}\n      h: {needs: a, if: '!cancelled()', STEPS}\n"
    )
    run.cancel()
    run.end("a", "b")
    assert [run.node(node).conclusion for node in "dgh"] == ["cancelled", "skipped", "cancelled"]


def test_force_spares_nobody() -> None:
    run = driven(WORKFLOW)
    run.cancel()
    run.cancel(force=True)
    assert run.of(CancelJob)[2:] == [CancelJob(node, "asked by ada", force=True) for node in "abc"]
    run.end("a", "b", "c", result="cancelled")
    assert run.conclusions()["f"] == "cancelled"
    assert run.conclusion == "cancelled"


def test_a_job_that_succeeds_while_it_is_cancelled_has_succeeded() -> None:
    run = driven("on: push\njobs: {a: {STEPS}}")
    run.cancel()
    run.end("a")
    assert run.conclusion == "success"


def test_nothing_happens_to_a_run_that_has_ended() -> None:
    run = driven("on: push\njobs: {a: {STEPS}}")
    run.end("a")
    for happening in (CancelAsked(), CancelAsked(force=True), JobStarted("a"), JobEnded("a", "failure")):
        assert run.tell(happening) == ()
    assert run.conclusion == "success"


def test_what_is_told_of_unknown_or_unfit_nodes_is_ignored() -> None:
    run = driven(WORKFLOW)
    for happening in (JobStarted("x"), JobEnded("d", "failure"), JobStarted("d"), JobEnded("x", "success")):
        assert run.tell(happening) == ()


def test_a_failed_condition_does_not_keep_a_job_alive() -> None:
    run = driven("on: push\njobs: {a: {if: \"always() && fromJSON('1')\", STEPS}}")
    run.cancel()
    assert run.cancelled() == []
