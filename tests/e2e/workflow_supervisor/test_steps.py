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
