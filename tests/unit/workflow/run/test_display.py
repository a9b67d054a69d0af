"""What people are shown of a run."""

from ostler.workflow.run.display import display
from tests.unit.workflow.run.driven import driven


def test_a_run_is_shown_in_the_order_of_the_file_with_levels_and_folds() -> None:
    run = driven(
        """
        on: push
        jobs:
          last: {needs: [call, big, small], STEPS}
          big: {needs: first, strategy: {matrix: {x: [1, 2, 3, 4, 5, 6, 7, 8, 9]}}, STEPS}
          small: {strategy: {matrix: {x: [1, 2]}}, STEPS}
          first: {STEPS}
          call: {needs: first, name: Ship, uses: ./inner.yml}
        """,
        inner="on: workflow_call\njobs: {b: {needs: a, STEPS}, a: {STEPS}}",
    )
    run.end("first", "small[0]", "big[0]")
    shown = {node.id: node for node in display(run.plan, run.state)}
    assert list(shown) == [
        "last",
        "big",
        *(f"big[{at}]" for at in range(9)),
        "small",
        "small[0]",
        "small[1]",
        "first",
        "call",
        "call/b",
        "call/a",
    ]
    levels = {node.id: node.level for node in shown.values()}
    assert {name: levels[name] for name in ("first", "small", "big", "call", "last", "call/a", "call/b")} == {
        "first": 0,
        "small": 0,
        "big": 1,
        "call": 1,
        "last": 2,
        "call/a": 0,
        "call/b": 1,
    }
    assert shown["big[3]"].folded == "big"
    assert shown["small[1]"].folded == ""
    assert shown["big"].counts == {"success": 1, "queued": 8}
    assert (shown["call/a"].name, shown["call/a"].label) == ("Ship / a", "a")
    assert shown["last"].parents == ("call", "big", "small")
    assert shown["call/a"].parent == "call"
