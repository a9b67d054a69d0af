"""Traps 23, 24 and 26: what a job knows of the jobs before it, and whether it runs."""

import pytest

from tests.unit.workflow.run.driven import driven


def test_a_job_starts_when_all_that_it_needs_has_ended() -> None:
    run = driven("""
        on: push
        jobs:
          a: {STEPS}
          b: {STEPS}
          c: {needs: [a, B], STEPS}
    """)
    assert run.started() == ["a", "b"]
    run.end("a")
    assert run.started() == ["a", "b"]
    run.end("b")
    assert run.started() == ["a", "b", "c"]
    run.end("c")
    assert run.conclusion == "success"


def test_a_failure_skips_all_that_follow() -> None:
    run = driven("""
        on: push
        jobs:
          a: {STEPS}
          b: {needs: a, STEPS}
          c: {needs: b, STEPS}
    """)
    run.fail("a")
    assert run.conclusions() == {"a": "failure", "b": "skipped", "c": "skipped"}
    assert run.node("b").note == "a failed"
    assert run.conclusion == "failure"


def test_a_job_that_was_skipped_far_above_is_not_forgotten() -> None:
    """GitHub's actions/runner#491: ``always()`` in between does not hide it."""
    run = driven("""
        on: push
        jobs:
          a: {if: false, STEPS}
          b: {needs: a, if: always(), STEPS}
          c: {needs: b, STEPS}
          d: {needs: b, if: '!cancelled()', STEPS}
    """)
    run.end("b")
    assert run.started() == ["b", "d"]
    assert run.conclusions()["c"] == "skipped"


def test_failure_sees_all_ancestors() -> None:
    run = driven("""
        on: push
        jobs:
          a: {STEPS}
          b: {needs: a, STEPS}
          c: {needs: b, if: failure(), STEPS}
          d: {needs: c, STEPS}
    """)
    run.fail("a")
    assert run.started() == ["a", "c"]
    run.end("c")
    assert run.conclusions() == {"a": "failure", "b": "skipped", "c": "success", "d": "skipped"}


@pytest.mark.parametrize(
    ("condition", "runs"),
    [
        ("", False),
        ("true", False),
        ("always()", True),
        ("failure()", True),
        ("cancelled()", False),
        ("success()", False),
        ("success() || failure()", True),
        ("needs.a.result == 'failure'", False),
        ("always() && needs.a.result == 'failure'", True),
        ("always() && needs.a.outputs.x == 'y'", True),
        ("always() && needs.a.outputs.missing == ''", True),
        ("'${{ false }} && true'", False),
        ("'${{ always() }} && false'", True),
        ("always() && github.ref_name == null", True),
    ],
)
def test_conditions_after_a_failure(condition: str, runs: bool) -> None:
    run = driven(f"""
        on: push
        jobs:
          a: {{STEPS}}
          b:
            needs: a
            if: {condition}
            runs-on: x
            steps: [{{run: 'true'}}]
    """)
    run.end("a", result="failure", outputs={"x": "y"})
    assert (run.started() == ["a", "b"]) is runs


def test_results_of_needed_jobs_also_of_skipped_ones() -> None:
    run = driven("""
        on: push
        jobs:
          a: {STEPS}
          b: {needs: a, if: false, STEPS}
          c: {needs: b, if: always(), STEPS}
    """)
    run.end("a", outputs={"x": "1"})
    needs = run.job("c").program.needs
    assert {name: (need.result, need.outputs) for name, need in needs.items()} == {"b": ("skipped", {})}


def test_a_failed_job_that_may_fail_lets_others_run() -> None:
    run = driven("""
        on: push
        jobs:
          a: {continue-on-error: true, STEPS}
          b: {needs: a, STEPS}
    """)
    assert run.job("a").continue_on_error
    run.fail("a")
    assert run.node("a").conclusion == "success"
    assert run.node("a").failed
    assert run.started() == ["a", "b"]
    assert run.job("b").program.needs["a"].result == "success"
    run.end("b")
    assert run.conclusion == "success"


def test_a_run_of_skipped_jobs_alone_is_skipped() -> None:
    run = driven("""
        on: push
        jobs:
          a: {if: false, STEPS}
          b: {needs: a, STEPS}
    """)
    assert run.conclusion == "skipped"


def test_a_long_chain_is_no_deep_one() -> None:
    jobs = "\n".join(f"          j{at}: {{needs: j{at - 1}, if: false, STEPS}}" for at in range(1, 1500))
    run = driven(f"        on: push\n        jobs:\n          j0: {{STEPS}}\n{jobs}")
    run.end("j0")
    assert run.conclusions()["j1499"] == "skipped"


def test_an_expression_that_fails_fails_the_job_and_nothing_else() -> None:
    run = driven("""
        on: push
        jobs:
          a: {STEPS}
          b: {needs: a, if: "fromJSON(needs.a.outputs.x).y", STEPS}
          c: {needs: a, STEPS}
          d: {needs: b, if: failure(), STEPS}
    """)
    run.end("a", outputs={"x": "{"})
    assert run.node("b").conclusion == "failure"
    assert run.node("b").cause == "configuration"
    assert run.node("b").note.startswith("if: ")
    assert run.started() == ["a", "c", "d"]
