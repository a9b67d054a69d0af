"""Which steps run, and what is concluded of them."""

from pathlib import Path

import msgspec
import pytest

from ostler.protocol.v1.program import Step
from tests.unit.actions.engine.driven import Driven

AFTER_A_FAILURE = [
    ("success()", "skipped"),
    ("", "skipped"),
    ("failure()", "succeeded"),
    ("always()", "succeeded"),
    ("cancelled()", "skipped"),
    ("true", "skipped"),
    ("${{ true }}", "skipped"),
    ("${{ always() }}", "succeeded"),
    ("always() && false", "skipped"),
    ("failure() && steps.bad.outcome == 'failure'", "succeeded"),
    ("!cancelled()", "succeeded"),
    ("${{ false }} || text", "skipped"),
    ("always() && env.A == 'x'", "succeeded"),
    ("always() && env.a == 'x'", "skipped"),
    ("always() && runner.os == 'linux'", "succeeded"),
    ("always() && github.ACTOR == 'ANN'", "succeeded"),
    ("always() && secrets.A", "failed"),
    ("always() && nothing.at.all", "failed"),
    ("always() && nofunction()", "failed"),
    ("always() &&", "failed"),
]


def _with(*steps: Step) -> list[object]:
    return [msgspec.to_builtins(step) for step in steps]


@pytest.mark.parametrize(
    ("condition", "conclusion"), AFTER_A_FAILURE, ids=[case[0] or "none" for case in AFTER_A_FAILURE]
)
def test_after_a_failed_step(tmp_path: Path, condition: str, conclusion: str) -> None:
    bad = Step(run="exit 1", name="bad", id="bad")
    job = Driven(tmp_path, _with(bad, Step(run="say ran", name="it", if_=condition, env={"A": "x"})))
    assert job.steps["it"] == conclusion
    assert job.said == (["ran"] if conclusion == "succeeded" else [])
    assert job.end.status == "failure"


def test_text_around_an_expression_is_always_true(tmp_path: Path) -> None:
    job = Driven(tmp_path, _with(Step(run="say ran", if_="${{ false }} && true")))
    assert job.said == ["ran"]


def test_a_forgiven_failure_is_known_by_its_outcome(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - {id: bad, run: exit 3, continue-on-error: true, name: bad}
        - run: say ${{ steps.bad.outcome }} ${{ steps.bad.conclusion }} ${{ job.status }}
        - {run: exit 1, continue-on-error: "${{ github.actor == 'bob' }}", name: strict}
        """,
    )
    assert job.said == ["failure success success"]
    assert (job.step("bad").outcome, job.step("bad").conclusion) == ("failed", "succeeded")
    assert job.end.failure is not None
    assert job.end.failure.name == "strict"


def test_skipped_steps_are_in_the_context(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - {id: no, run: say no, if: false}
        - run: say ${{ steps.no.outcome }} ${{ steps.no.conclusion }} [${{ steps.no.outputs.x }}]
        """,
    )
    assert job.said == ["skipped skipped []"]


def test_a_step_that_is_late_fails(tmp_path: Path) -> None:
    job = Driven(
        tmp_path, "- {run: until ever, timeout-minutes: '${{ 2 }}', name: slow}\n- {run: say next, if: failure()}"
    )
    assert job.machine.limits == [120_000]
    job.machine.late("ever")
    assert job.steps["slow"] == "timed_out"
    assert job.said == ["next"]
    assert job.marked == ["##[error]The step ran longer than its 2 minutes."]


def test_cancelling_stops_what_does_not_want_to_go_on(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - {run: until ever, name: one}
        - {run: say no, name: two}
        - {run: say told, if: cancelled(), name: three}
        - {run: "say ${{ job.status }}", if: always(), name: four}
        - {run: say no, if: failure(), name: five}
        """,
    )
    job.cancel()
    assert job.said == ["told", "cancelled"]
    assert [job.steps[name] for name in ("one", "two", "three", "four", "five")] == [
        "cancelled",
        "skipped",
        "succeeded",
        "succeeded",
        "skipped",
    ]
    assert job.end.status == "cancelled"


def test_what_runs_always_is_left_alone_by_a_cancellation(tmp_path: Path) -> None:
    job = Driven(tmp_path, "- {run: until ever, if: always(), name: one}\n- run: say no")
    job.cancel()
    assert not job.task.ended.done
    job.machine.release("ever")
    assert job.steps["one"] == "succeeded"
    assert job.said == []


def test_names_and_numbers_are_in_the_order_of_the_list(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - {run: say a, name: "Say ${{ github.actor }}"}
        - {run: "say b\\nsay c"}
        - {run: say d, name: "bad ${{ fromJSON(github.actor) }}"}
        """,
    )
    assert [(news.number, news.name, news.program_step) for news, _ in job.machine.ended] == [
        (0, "Set up job", -1),
        (1, "Say ann", 0),
        (2, "Run say b", 1),
        (3, "bad ${{ fromJSON(github.actor) }}", 2),
        (4, "Complete job", -1),
    ]
