"""Running again: what is kept, what runs again, and what that makes of the run."""

from ostler.domain.machine import Refused
from ostler.workflow.run.happenings import GroupGranted
from ostler.workflow.run.plan import next_attempt
from ostler.workflow.run.reruns import From, Which, rerun
from ostler.workflow.run.state import NodeState
from tests.unit.workflow.run.driven import Driven, driven

WORKFLOW = """
    on: push
    jobs:
      a: {STEPS}
      b: {needs: a, strategy: {fail-fast: false, matrix: {x: [1, 2]}}, STEPS}
      c: {needs: b, STEPS}
      d: {STEPS}
      e: {needs: [a, d], STEPS}
"""


def failed_run() -> Driven:
    run = driven(WORKFLOW)
    run.end("a", outputs={"o": "kept"})
    run.end("b[0]", outputs={"m": "kept too"})
    run.fail("b[1]", "d")
    assert run.conclusion == "failure"
    return run


def again(run: Driven, which: Which) -> Driven:
    plan = next_attempt(run.plan, triggering_actor="bob")
    begun = rerun(plan, run.state, which)
    assert not isinstance(begun, Refused)
    return Driven(plan, (begun[0], begun[1]))


def test_what_failed_runs_again_with_what_needs_it() -> None:
    run = again(failed_run(), "failed")
    assert run.started() == ["b[1]", "d"]
    assert run.state.attempt == 2
    assert run.job("d").program.github["run_attempt"] == "2"
    assert run.job("d").program.github["triggering_actor"] == "bob"
    assert run.job("d").program.github["actor"] == "ada"
    assert {node.id: node.attempt for node in run.state.nodes.values()} == {
        "a": 1,
        "b": 2,
        "c": 2,
        "d": 2,
        "e": 2,
        "b[0]": 1,
        "b[1]": 2,
    }
    run.end("b[1]", "d", outputs={"n": "new"})
    assert run.job("c").program.needs["b"].outputs == {"m": "kept too", "n": "new"}
    assert run.job("e").program.needs["a"].outputs == {"o": "kept"}
    run.end("c", "e")
    assert run.conclusion == "success"


def test_all_runs_again() -> None:
    run = again(failed_run(), "all")
    assert run.started() == ["a", "d"]
    assert list(run.state.nodes) == ["a", "b", "c", "d", "e"]


def test_one_job_runs_again_with_what_follows() -> None:
    run = again(failed_run(), From("a"))
    assert run.started() == ["a"]
    run.end("a")
    assert run.started() == ["a", "b[0]", "b[1]"]
    assert run.node("d").conclusion == "failure"
    run.end("b[0]", "b[1]")
    run.end("c")
    assert run.node("e").conclusion == "skipped"
    assert run.conclusion == "failure"


def test_one_job_of_a_matrix_runs_again() -> None:
    run = again(failed_run(), From("b[0]"))
    assert run.started() == ["b[0]"]
    assert run.node("b").state is NodeState.RUNNING
    assert run.node("b[1]").conclusion == "failure"


def test_a_whole_matrix_runs_again() -> None:
    assert again(failed_run(), From("b")).started() == ["b[0]", "b[1]"]


CALLS = """
    on: push
    jobs:
      c: {strategy: {fail-fast: false, matrix: {x: [1, 2]}}, uses: ./inner.yml, with: {x: '${{ matrix.x }}'}}
      d: {needs: c, STEPS}
"""
INNER = """
    on: {workflow_call: {inputs: {x: {type: number}}, outputs: {o: {value: '${{ jobs.b.outputs.o }}'}}}}
    concurrency: inner-${{ inputs.x }}
    jobs:
      a: {STEPS}
      b: {needs: a, STEPS}
"""


def test_a_call_goes_on_with_what_is_kept_below_it() -> None:
    run = driven(CALLS, inner=INNER)
    run.tell(GroupGranted("c[0]/"))
    run.tell(GroupGranted("c[1]/"))
    run.end("c[0]/a", "c[1]/a", "c[0]/b", outputs={"o": "1"})
    run.fail("c[1]/b")
    assert run.conclusion == "failure"
    second = again(run, "failed")
    assert second.joined() == [("c[1]/", "inner-2")]
    second.tell(GroupGranted("c[1]/"))
    assert second.started() == ["c[1]/b"]
    assert second.job("c[1]/b").program.inputs == {"x": 2.0}
    second.end("c[1]/b", outputs={"o": "2"})
    assert second.job("d").program.needs["c"].outputs == {"o": "2"}
    second.end("d")
    assert second.conclusion == "success"
    third = again(second, From("c[0]/b"))
    third.tell(GroupGranted("c[0]/"))
    assert third.started() == ["c[0]/b"]


def test_a_call_that_is_cancelled_before_it_goes_on() -> None:
    run = driven(CALLS, inner=INNER)
    run.tell(GroupGranted("c[0]/"))
    run.tell(GroupGranted("c[1]/"))
    run.end("c[0]/a", "c[1]/a", "c[0]/b")
    run.fail("c[1]/b")
    second = again(run, "failed")
    second.cancel()
    assert second.left() == ["c[1]/"]
    assert second.node("c[1]/b").conclusion == "cancelled"
    assert second.node("c[1]").conclusion == "cancelled"
    assert second.conclusion == "cancelled"


def test_what_could_not_be_expanded_runs_again() -> None:
    run = driven("""
        on: push
        jobs:
          a: {STEPS}
          b: {needs: a, strategy: {matrix: {x: '${{ fromJSON(needs.a.outputs.x) }}'}}, STEPS}
    """)
    run.end("a", outputs={"x": "[]"})
    second = again(run, From("a"))
    second.end("a", outputs={"x": "[1]"})
    assert second.started() == ["a", "b[0]"]
    assert again(run, "failed").conclusion == "failure"


def test_what_cannot_run_again() -> None:
    run = driven("on: push\njobs: {a: {STEPS}}")
    plan = next_attempt(run.plan)
    assert _code(rerun(plan, run.state, "all")) == "run_not_ended"
    run.end("a")
    assert _code(rerun(plan, run.state, "failed")) == "nothing_failed"
    assert _code(rerun(plan, run.state, From("x"))) == "job_unknown"


def _code(answer: object) -> str:
    assert isinstance(answer, Refused)
    return answer.code
