"""What the steps of a workflow's job do, say and leave, with real processes."""

from pathlib import Path

from tests.e2e.workflow_supervisor.parts import order, program, ran


def test_steps_talk_through_files_and_conditions(tmp_path: Path) -> None:
    job = program(
        """
        - id: one
          run: |
            echo "value=42" >>"$GITHUB_OUTPUT"
            echo "LATER=yes" >>"$GITHUB_ENV"
            mkdir -p bin; printf '#!/bin/sh\\necho tool' >bin/tool; chmod +x bin/tool
            echo "$PWD/bin" >>"$GITHUB_PATH"
            echo "now:$LATER"
        - run: echo "${{ steps.one.outputs.value }} $LATER ${{ env.LATER }} ${{ steps.one.outcome }}"; tool
        - run: exit 3
          id: bad
        - run: echo never
        - run: echo "${{ job.status }} ${{ steps.bad.conclusion }}"
          if: failure()
        """,
        outputs={"answer": "${{ steps.one.outputs.value }}", "empty": "${{ steps.one.outputs.none }}"},
    )
    found = ran(tmp_path, order(job))
    assert found.said == ["now:", "42 yes yes success", "tool", "failure failure"]
    assert (found.result.conclusion, found.result.cause, found.result.exit_code) == ("failed", "step_failed", 3)
    assert found.result.outputs == {"answer": "42"}
    assert list(found.steps.values()) == [
        "succeeded",  # set up
        "succeeded",
        "succeeded",
        "failed",
        "skipped",
        "succeeded",
        "succeeded",  # complete
    ]


def test_secrets_and_masks_never_reach_the_log(tmp_path: Path) -> None:
    job = program(
        """
        - run: |
            echo "a ${{ secrets.TOKEN }} b"
            made=inven; made=${made}ted
            echo "::add-mask::$made"
            echo "an $made word" | tee word
            echo "out=$(cat word)" >>"$GITHUB_OUTPUT"
            echo "::error title=$made::the $made word"
          id: s
        - run: cat word; echo "${{ secrets.TOKEN }}" | base64
        """,
        outputs={"leak": "${{ steps.s.outputs.out }}"},
    )
    found = ran(tmp_path, order(job, secrets={"TOKEN": "hunter22hunter22"}))
    assert "hunter22" not in found.log
    assert "invented word" not in found.log
    assert found.said[:3] == [
        "a *** b",
        "an *** word",
        "an *** word",
    ]
    assert found.result.outputs == {}
    assert "Skip output 'leak' since it may contain secret." in found.log
    annotation = next(event for event in found.events if event.step_id == "s" and event.annotations).annotations[0]
    assert (annotation.title, annotation.message) == ("***", "the *** word")


def test_steps_that_break_what_is_around_them_break_nothing_else(tmp_path: Path) -> None:
    job = program(
        """
        - run: rm -rf "$(dirname "$GITHUB_ENV")" "$RUNNER_TEMP"
        - run: rm "$GITHUB_ENV"; mkdir "$GITHUB_ENV"
          name: folder
          continue-on-error: true
        - run: rm "$GITHUB_OUTPUT"; mkfifo "$GITHUB_OUTPUT"
          name: pipe
          continue-on-error: true
        - run: printf '\\377::error::\\377\\n::error::a\\377b\\n'
          name: bytes
        - run: echo "::add-matcher::m.json"; head -c 40 /dev/zero | tr '\\0' a; echo '!'; echo after
        - run: rm -rf "$GITHUB_WORKSPACE"
        - run: echo no
          name: nowhere
        """
    )
    slow = '{"problemMatcher":[{"owner":"x","pattern":[{"regexp":"^(a+)+$","message":1}]}]}'
    found = ran(tmp_path, order(job), {"m.json": slow})
    assert found.result.evidence == "step nowhere: The workspace does not exist any more."
    assert [found.step(name).outcome for name in ("folder", "pipe", "bytes")] == ["failed", "failed", "succeeded"]
    assert "something else was put in the place of the file" in found.log
    assert found.step("bytes").annotations[0].message == "a\ufffdb"
    assert found.said[-2:] == ["a" * 40 + "!", "after"]
    assert "all problem matchers are off from here on" in found.log
