"""Steps beside others: begun, waited for, cancelled, grouped."""

from pathlib import Path

from tests.e2e.workflow_supervisor.parts import order, program, ran


def test_a_step_in_the_background_is_seen_once_it_was_waited_for(tmp_path: Path) -> None:
    job = program(
        """
        - id: server
          background: true
          run: |
            echo "before"
            while [ ! -e go ]; do sleep 0.01; done
            echo "port=80" >>"$GITHUB_OUTPUT"
            echo "SEEN=yes" >>"$GITHUB_ENV"
        - run: echo "[${{ steps.server.outputs.port }}][$SEEN]"; touch go
        - wait: server
        - run: echo "[${{ steps.server.outputs.port }}][$SEEN][${{ steps.server.outcome }}]"
        """
    )
    found = ran(tmp_path, order(job))
    assert found.result.conclusion == "succeeded", found.log
    assert [line for line in found.said if line.startswith("[")] == ["[][]", "[80][yes][success]"]
    server = next(event for event in found.events if event.step_id == "server" and event.conclusion)
    assert (server.background, server.program_step) == (True, 0)


def test_a_cancelled_step_in_the_background_does_no_harm(tmp_path: Path) -> None:
    job = program(
        """
        - {id: service, run: "sleep 60", background: true}
        - run: echo worked
        - cancel: service
        - run: echo "${{ steps.service.outcome }} ${{ job.status }}"
        """
    )
    found = ran(tmp_path, order(job, graces_ms=(300, 300)))
    assert found.result.conclusion == "succeeded", found.log
    assert found.said[-1] == "cancelled success"


def test_whoever_waits_fails_in_place_of_the_step(tmp_path: Path) -> None:
    job = program(
        """
        - {id: bad, run: "exit 4", background: true}
        - run: sleep 0.1; echo "${{ job.status }}"
        - {wait-all: , continue-on-error: true}
        - run: echo "${{ job.status }} ${{ steps.bad.outcome }}"
        - {id: worse, run: "exit 5", background: true}
        """
    )
    found = ran(tmp_path, order(job))
    assert [line for line in found.said if line.startswith(("success", "failure"))] == ["success", "success failure"]
    assert found.result.conclusion == "failed"


def test_parallel_steps_run_at_once_and_keep_their_lines(tmp_path: Path) -> None:
    job = program(
        """
        - parallel:
            - id: left
              run: |
                touch left; while [ ! -e right ]; do sleep 0.01; done
                for n in 1 2 3; do printf 'left'; sleep 0.01; echo " $n"; done
                echo "::error::from left"
            - id: right
              run: |
                touch right; while [ ! -e left ]; do sleep 0.01; done
                for n in 1 2 3; do printf 'right'; sleep 0.01; echo " $n"; done
        - run: echo "${{ steps.left.outcome }} ${{ steps.right.outcome }}"
        """
    )
    found = ran(tmp_path, order(job))
    assert found.result.conclusion == "succeeded", found.log
    for name in ("left", "right"):
        assert [line for line in found.log.splitlines() if line.startswith(f"{name} ")] == [
            f"{name} {n}" for n in "123"
        ]
    left = next(event for event in found.events if event.step_id == "left" and event.conclusion)
    assert [one.message for one in left.annotations] == ["from left"]
