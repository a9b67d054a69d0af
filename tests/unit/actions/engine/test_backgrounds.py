"""Steps beside others: what is seen when, what fails the job, how many run at once."""

from pathlib import Path

from ostler.actions.engine.background import AT_ONCE
from tests.unit.actions.engine.driven import Driven


def test_what_it_sets_is_seen_after_the_wait(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - {id: b, background: true, run: "out x=1\\nenv E=2\\npath /p\\nuntil go"}
        - run: say [${{ steps.b.outputs.x }}${{ steps.b.outcome }}${{ env.E }}]
        - wait: b
        - run: say [${{ steps.b.outputs.x }} ${{ steps.b.outcome }} ${{ env.E }}]
        """,
    )
    assert job.said[0] == "[]"
    assert not job.task.ended.done
    job.machine.release("go")
    assert job.said[-1] == "[1 success 2]"
    assert job.end.status == "success"


def test_the_end_of_the_steps_waits_for_all_of_them(tmp_path: Path) -> None:
    job = Driven(tmp_path, '- {background: true, run: "until go\\nexit 3", name: b}\n- run: say on ${{ job.status }}')
    assert job.said == ["on success"]
    assert not job.task.ended.done
    job.machine.release("go")
    assert job.end.status == "failure"
    assert job.end.failure is not None
    assert job.end.failure.name == "b"


def test_waiting_goes_on_after_a_failure_and_fails_itself(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - {id: b, background: true, run: exit 2}
        - {run: exit 1, continue-on-error: true}
        - {wait-all: , name: w}
        - {run: "say ${{ steps.b.outcome }}", if: failure()}
        """,
    )
    assert job.steps["w"] == "failed"
    assert job.said == ["Waiting for: Run exit 2", "failure"]


def test_cancelling_one_harms_nobody(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - {id: b, background: true, run: until ever, name: b}
        - {cancel: b, name: c}
        - run: say ${{ steps.b.outcome }} ${{ job.status }}
        """,
    )
    assert (job.steps["b"], job.steps["c"]) == ("cancelled", "succeeded")
    assert job.said[-1] == "cancelled success"
    assert job.end.status == "success"


def test_a_cancelled_job_takes_them_along(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - {id: b, background: true, run: until ever, if: always(), name: b}
        - {wait: b, name: w}
        - {run: "say ${{ job.status }}", if: always()}
        """,
    )
    job.cancel()
    assert (job.steps["b"], job.steps["w"]) == ("cancelled", "cancelled")
    assert job.said[-1] == "cancelled"


def test_only_so_many_run_at_once(tmp_path: Path) -> None:
    count = AT_ONCE + 2
    steps = "".join(f"- {{background: true, run: until g{number}, name: n{number}}}\n" for number in range(count))
    job = Driven(tmp_path, steps)
    begun = [news.name for news in job.machine.started if news.background]
    assert begun == [f"n{number}" for number in range(AT_ONCE)]
    job.machine.release("g3")
    assert [news.name for news in job.machine.started if news.background][-1] == f"n{AT_ONCE}"
    for number in (*range(3), *range(4, count)):
        job.machine.release(f"g{number}")
    assert job.end.status == "success"


def test_a_group_ends_when_all_of_it_has(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - parallel:
            - {id: a, run: "until a\\nout x=1"}
            - {id: b, run: "until b\\nexit 1", continue-on-error: true}
        - run: say ${{ steps.a.outputs.x }} ${{ steps.b.outcome }} ${{ job.status }}
        """,
    )
    assert [news.program_step for news in job.machine.started if news.background] == [0, 0]
    job.machine.release("b")
    assert job.said == []
    job.machine.release("a")
    assert job.said == ["1 failure success"]


def test_an_action_in_the_background_has_its_post_step(tmp_path: Path) -> None:
    action = "name: p\nruns: {using: node20, main: m.js, post: q.js}"
    job = Driven(
        tmp_path,
        "- {uses: o/p@v1, background: true, name: b}\n- run: say on",
        actions={"p/action.yml": action, "p/m.js": "say main\nstate s=1", "p/q.js": "say post\nshow STATE_s"},
    )
    assert job.said[-2:] == ["post", "1"]
    assert job.steps["Post b"] == "succeeded"
