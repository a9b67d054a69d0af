"""Traps 31 and 33: the jobs of a matrix together."""

import pytest

from ostler.workflow.run.state import NodeState
from tests.unit.workflow.run.driven import Driven, driven


def test_a_matrix_is_expanded_when_what_it_needs_has_ended() -> None:
    run = driven("""
        on: push
        jobs:
          a: {STEPS}
          b:
            needs: a
            strategy: {matrix: '${{ fromJSON(needs.a.outputs.m) }}'}
            runs-on: ${{ matrix.os }}
            steps: [{run: 'true'}]
          c: {needs: b, STEPS}
    """)
    run.end("a", outputs={"m": '{"os": ["l", ["w", "x"]], "include": [{"os": "m", "v": 1}]}'})
    assert [run.job(node).name for node in run.started()[1:]] == ["b (l)", "b (w, x)", "b (m, 1)"]
    assert [run.job(f"b[{at}]").labels for at in range(3)] == [("l",), ("w", "x"), ("m",)]
    assert run.job("b[2]").program.matrix == {"os": "m", "v": 1.0}
    assert run.job("b[1]").program.strategy == {
        "fail-fast": True,
        "job-index": 1.0,
        "job-total": 3.0,
        "max-parallel": 3.0,
    }
    run.end("b[0]", "b[1]", "b[2]")
    assert run.started()[-1] == "c"


@pytest.mark.parametrize("output", ["", "[]", '{"os": []}', "nonsense", '{"os": "l"}'])
def test_a_matrix_of_nothing_fails_early(output: str) -> None:
    run = driven("""
        on: push
        jobs:
          a: {STEPS}
          b: {needs: a, strategy: {matrix: '${{ fromJSON(needs.a.outputs.m) }}'}, STEPS}
    """)
    run.end("a", outputs={"m": output})
    assert run.node("b").note.startswith("strategy.matrix")
    assert run.conclusion == "failure"


def test_a_matrix_of_which_everything_is_excluded_is_one_job_without_a_matrix() -> None:
    run = driven("""
        on: push
        jobs:
          a: {strategy: {matrix: {x: [1], exclude: [{x: 1}]}}, STEPS}
    """)
    assert run.started() == ["a"]
    assert run.job("a").program.matrix is None
    assert run.job("a").name == "a"
    run.end("a")
    assert run.conclusion == "success"


MATRIX = """
    on: push
    jobs:
      a: {strategy: {matrix: {x: [1, 2, 3]}, KEYS}, STEPS}
      b: {STEPS}
"""


def matrix(keys: str) -> Driven:
    return driven(MATRIX.replace("KEYS", keys))


def test_a_failure_cancels_the_others_of_its_matrix_only() -> None:
    run = matrix("fail-fast: true")
    run.fail("a[1]")
    assert run.cancelled() == ["a[0]", "a[2]"]
    assert run.node("a[0]").note == "a (2) failed"
    run.end("a[0]", "a[2]", result="cancelled")
    assert run.node("a").conclusion == "failure"
    assert run.conclusion == ""
    run.end("b")
    assert run.conclusion == "failure"


def test_without_fail_fast_all_go_on() -> None:
    run = matrix("fail-fast: false")
    run.fail("a[1]")
    assert run.cancelled() == []
    run.end("a[0]", "a[2]", "b")
    assert run.conclusion == "failure"


def test_one_that_may_fail_cancels_nobody() -> None:
    run = driven("""
        on: push
        jobs:
          a: {strategy: {matrix: {x: [true, false]}}, continue-on-error: '${{ matrix.x }}', STEPS}
    """)
    run.fail("a[0]")
    assert run.cancelled() == []
    run.end("a[1]")
    assert run.conclusion == "success"


def test_max_parallel_counts_per_job() -> None:
    run = matrix("max-parallel: 2")
    assert run.started() == ["a[0]", "a[1]", "b"]
    assert run.node("a[2]").state is NodeState.PENDING
    run.end("a[1]")
    assert run.started()[-1] == "a[2]"
    assert run.job("a[0]").program.strategy["max-parallel"] == 2.0


def test_one_that_waited_for_a_place_is_cancelled_without_ever_having_run() -> None:
    run = matrix("max-parallel: 1")
    run.fail("a[0]")
    assert run.cancelled() == []
    assert run.conclusions() == {"a[0]": "failure", "a[1]": "cancelled", "a[2]": "cancelled", "a": "failure"}


def test_outputs_of_a_matrix_are_those_of_the_last_writer() -> None:
    run = driven("""
        on: push
        jobs:
          a: {strategy: {matrix: {x: [1, 2, 3]}}, STEPS}
          b: {needs: a, STEPS}
    """)
    run.end("a[2]", outputs={"o": "third", "p": "3"})
    run.end("a[0]", outputs={"o": "first", "p": ""})
    run.end("a[1]", outputs={"q": "2"})
    assert run.job("b").program.needs["a"].outputs == {"o": "first", "p": "3", "q": "2"}


def test_names_made_by_expressions_stay_as_they_are() -> None:
    run = driven("""
        on: push
        jobs:
          a: {name: 'Test on ${{ matrix.x }}', strategy: {matrix: {x: [l]}}, STEPS}
          b: {name: Build, strategy: {matrix: {x: [l]}}, STEPS}
          c: {name: '${{ matrix.y }}', strategy: {matrix: {x: [l]}}, STEPS}
          d: {name: 'by ${{ github.actor }}', if: false, STEPS}
          e: {name: 'x ${{ matrix.x }}', if: false, strategy: {matrix: {x: [l]}}, STEPS}
    """)
    assert [run.job(f"{job}[0]").name for job in "abc"] == ["Test on l", "Build (l)", "c (l)"]
    assert [run.node(job).name for job in "abc"] == ["a", "Build", "c"]
    assert (run.node("d").name, run.node("e").name) == ("by ada", "x ${{ matrix.x }}")


@pytest.mark.parametrize(
    ("keys", "note"),
    [
        ("fail-fast: '${{ github.actor }}'", "strategy.fail-fast: 'ada' is neither true nor false"),
        ("max-parallel: '${{ github.actor }}'", "strategy.max-parallel: 'ada' is no number"),
    ],
)
def test_strategies_of_the_wrong_type(keys: str, note: str) -> None:
    assert matrix(keys).node("a").note == note


def test_values_that_json_cannot_hold_do_not_keep_a_run_from_being_stored() -> None:
    run = driven("""
        on: push
        jobs:
          a: {STEPS}
          b:
            needs: a
            strategy: {matrix: {x: '${{ fromJSON(needs.a.outputs.x) }}', y: ['${{ Infinity }}']}}
            name: ${{ fromJSON(needs.a.outputs.x)[0] }}
            runs-on: ${{ matrix.x }}
            steps: [{run: 'true'}]
    """)
    run.end("a", outputs={"x": '["\\ud800", "\\ud83d\\ude00"]'})
    assert run.job("b[0]").labels == ("\ufffd",)
    assert run.job("b[1]").program.matrix == {"x": "\U0001f600", "y": "Infinity"}
    assert run.node("b[0]").name == "\ufffd"
