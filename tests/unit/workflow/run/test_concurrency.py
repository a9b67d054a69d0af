"""Concurrency groups: who has them, and how a run asks for them."""

from collections.abc import Sequence

import pytest

from ostler.domain.machine import Refused
from ostler.workflow.run.concurrency import LONGEST_QUEUE, Decision, group_key, join, leave
from ostler.workflow.run.effects import JoinGroup, Queue
from ostler.workflow.run.happenings import CancelAsked, GroupDenied, GroupGranted, HolderCancelled
from ostler.workflow.run.state import NodeState, RunPhase
from tests.unit.workflow.run.driven import driven, refusable_plan


@pytest.mark.parametrize(
    ("holder", "waiting", "cancel", "queue", "decision"),
    [
        (None, [], False, "single", Decision(granted=True)),
        ("a", [], False, "single", Decision(granted=False)),
        ("a", ["b"], False, "single", Decision(granted=False, denied=("b",))),
        ("a", ["b"], True, "single", Decision(granted=False, denied=("b",), cancelled=("a",))),
        ("a", ["b", "c"], False, "max", Decision(granted=False)),
        ("a", ["n"], False, "single", Decision(granted=False)),
        ("n", ["b"], True, "single", Decision(granted=True)),
        ("a", list("x" * LONGEST_QUEUE), False, "max", Decision(granted=False, denied=("n",))),
    ],
)
def test_joining(
    holder: str | None, waiting: Sequence[str], cancel: bool, queue: Queue, decision: Decision[str]
) -> None:
    assert join(holder, waiting, "n", cancel_in_progress=cancel, queue=queue) == decision


def test_the_one_that_waits_longest_is_next() -> None:
    assert leave(["b", "c"]) == "b"
    assert leave([]) is None


def test_names_ignore_case() -> None:
    assert group_key("Prod") == group_key("prOD")


WORKFLOW = """
    on: push
    concurrency: {group: 'deploy-${{ github.ref_name }}', cancel-in-progress: '${{ github.actor == ''ada'' }}'}
    jobs:
      a: {STEPS}
"""


def test_a_run_waits_for_its_group_and_leaves_it() -> None:
    run = driven(WORKFLOW)
    assert run.effects == [JoinGroup("", "deploy-", cancel_in_progress=True)]
    assert run.state.phase is RunPhase.PENDING
    run.tell(GroupGranted(""))
    assert run.started() == ["a"]
    run.end("a")
    assert run.left() == [""]
    assert run.conclusion == "success"


def test_a_run_that_is_replaced_while_it_waits_is_cancelled() -> None:
    run = driven(WORKFLOW)
    run.tell(GroupDenied("", "replaced by run 7"))
    assert run.conclusions() == {"a": "cancelled"}
    assert run.conclusion == "cancelled"
    assert run.state.note == "replaced by run 7"
    assert run.left() == []


def test_a_run_that_is_cancelled_while_it_waits_leaves_the_queue() -> None:
    run = driven(WORKFLOW)
    run.tell(CancelAsked("x"))
    assert run.left() == [""]
    assert run.conclusion == "cancelled"


def test_a_newer_run_cancels_one_that_runs() -> None:
    run = driven(WORKFLOW)
    run.tell(GroupGranted(""))
    run.tell(HolderCancelled(""))
    assert run.cancelled() == ["a"]


JOBS = """
    on: push
    jobs:
      a: {concurrency: g, STEPS}
      b: {strategy: {matrix: {x: [1, 2]}}, concurrency: {group: 'm-${{ matrix.x }}', queue: max}, STEPS}
      c: {if: false, concurrency: g, STEPS}
"""


def test_jobs_wait_for_groups() -> None:
    run = driven(JOBS)
    assert run.joined() == [("a", "g"), ("b[0]", "m-1"), ("b[1]", "m-2")]
    assert [effect.queue for effect in run.of(JoinGroup)] == ["single", "max", "max"]
    assert run.started() == []
    assert run.node("a").state is NodeState.PENDING
    run.tell(GroupGranted("a"))
    run.tell(GroupGranted("b[1]"))
    run.tell(GroupDenied("b[0]"))
    assert run.started() == ["a", "b[1]"]
    run.tell(HolderCancelled("a"))
    assert run.cancelled() == ["a"]
    run.end("a", result="cancelled")
    run.end("b[1]")
    assert run.left() == ["b[0]", "a", "b[1]"]
    assert run.conclusion == "cancelled"


def test_a_job_without_a_place_does_not_ask_for_a_group() -> None:
    run = driven("on: push\njobs: {a: {strategy: {matrix: {x: [1, 2]}, max-parallel: 1}, concurrency: g, STEPS}}")
    assert run.joined() == [("a[0]", "g")]
    run.tell(GroupGranted("a[0]"))
    run.end("a[0]")
    assert run.joined() == [("a[0]", "g"), ("a[1]", "g")]


def test_a_called_workflow_has_a_group_of_its_own() -> None:
    run = driven(
        "on: push\njobs: {c: {concurrency: outer, uses: ./inner.yml}}",
        inner="on: workflow_call\nconcurrency: inner\njobs: {a: {concurrency: third, STEPS}}",
    )
    run.tell(GroupGranted("c"))
    assert run.joined() == [("c", "outer"), ("c/", "inner")]
    run.tell(GroupGranted("c/"))
    run.tell(GroupGranted("c/a"))
    run.end("c/a")
    assert run.left() == ["c/a", "c/", "c"]
    assert run.conclusion == "success"


def test_a_job_does_not_wait_for_its_own_run() -> None:
    run = driven("on: push\nconcurrency: Same\njobs: {a: {concurrency: same, STEPS}}")
    run.tell(GroupGranted(""))
    assert run.node("a").conclusion == "cancelled"
    assert "which the run or its caller has already" in run.node("a").note
    assert run.conclusion == "cancelled"


@pytest.mark.parametrize(
    ("written", "note"),
    [
        ("{group: '${{ github.nothing }}'}", "concurrency.group: it is empty"),
        ("{group: g, cancel-in-progress: '${{ 1 }}'}", "concurrency.cancel-in-progress: '1' is neither"),
        ("{group: g, cancel-in-progress: true, queue: max}", "cannot queue"),
        (f"{{group: {'g' * 401}}}", "more than 400 characters"),
        ("{group: '${{ github }}'}", "a mapping stands where text is expected"),
    ],
)
def test_groups_that_cannot_be(written: str, note: str) -> None:
    run = driven(f"on: push\njobs: {{a: {{concurrency: {written}, STEPS}}}}")
    assert note in run.node("a").note
    refused = refusable_plan(f"on: push\nconcurrency: {written}\njobs: {{a: {{STEPS}}}}")
    assert isinstance(refused, Refused)
    assert note in refused.reason
