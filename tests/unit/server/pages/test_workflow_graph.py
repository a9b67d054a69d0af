"""Which nodes of a run its graph shows, and what stands for those that it does not."""

from ostler.server.pages.workflow_graph import graph_jobs
from ostler.workflow.run.display import Shown
from ostler.workflow.run.effects import Conclusion
from ostler.workflow.run.state import NodeKind, NodeState


def _shown(
    identity: str,
    *needs: str,
    kind: NodeKind = "job",
    parent: str = "",
    folded: str = "",
    counts: dict[str, int] | None = None,
    conclusion: Conclusion = "success",
) -> Shown:
    return Shown(
        id=identity,
        name=identity,
        label=identity,
        kind=kind,
        state=NodeState.ENDED,
        conclusion=conclusion,
        parent=parent,
        parents=needs,
        folded=folded,
        counts=counts or {},
    )


def _lines(*nodes: Shown) -> dict[str, tuple[str, ...]]:
    return {job.id: job.needs for job in graph_jobs(nodes, {}, {})}


def test_a_small_matrix_is_shown_by_its_jobs() -> None:
    lines = _lines(
        _shown("build"),
        _shown("test", "build", kind="matrix"),
        _shown("test[0]", parent="test"),
        _shown("test[1]", parent="test"),
        _shown("deploy", "test"),
    )
    assert lines == {
        "build": (),
        "test[0]": ("build",),
        "test[1]": ("build",),
        "deploy": ("test[0]", "test[1]"),
    }


def test_a_large_matrix_is_one_job_that_counts() -> None:
    cells = [_shown(f"test[{each}]", parent="test", folded="test") for each in range(9)]
    matrix = _shown("test", "build", kind="matrix", counts={"success": 8, "failure": 1})
    jobs = graph_jobs([_shown("build"), matrix, *cells, _shown("deploy", "test")], {}, {})
    assert [(job.id, job.folded, job.needs) for job in jobs] == [
        ("build", 0, ()),
        ("test", 9, ("build",)),
        ("deploy", 0, ("test",)),
    ]
    assert jobs[1].detail == "9 jobs: 1 failed, 8 succeeded"
    assert jobs[1].href == "#run-jobs"


def test_a_called_workflow_is_entered_by_its_first_jobs_and_left_by_its_last() -> None:
    lines = _lines(
        _shown("build"),
        _shown("ship", "build", kind="call"),
        _shown("ship/check", parent="ship"),
        _shown("ship/push", "ship/check", parent="ship"),
        _shown("ship/tell", "ship/check", parent="ship"),
        _shown("after", "ship"),
    )
    assert lines == {
        "build": (),
        "ship/check": ("build",),
        "ship/push": ("ship/check",),
        "ship/tell": ("ship/check",),
        "after": ("ship/push", "ship/tell"),
    }


def test_what_has_no_jobs_yet_is_shown_itself() -> None:
    assert _lines(_shown("a", kind="matrix"), _shown("b", "a")) == {"a": (), "b": ("a",)}
