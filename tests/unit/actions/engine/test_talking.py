"""What steps say to the runner by commands and files, and what later steps see of it."""

from pathlib import Path

import pytest

from tests.unit.actions.engine.driven import Driven


def test_files_are_seen_by_the_steps_after(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - id: one
          run: |
            env A=1
            env LONG<<E\\nx\\ny\\nE
            out o=2
            path /first
            path /second
            path /first
            show A
        - run: |
            say ${{ env.A }} ${{ steps.one.outputs.o }} ${{ toJSON(env.LONG) }}
            show A PATH
        - run: show A
          env: {A: own}
        """,
        base={"PATH": "/bin"},
    )
    assert job.said == ["-", '1 2 "x\\ny"', "1 /first:/second:/bin", "own"]


def test_layers_of_variables(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - run: show W J S CI GITHUB_JOB RUNNER_OS BASE
        - run: show W J S CI GITHUB_JOB RUNNER_OS BASE
          env: {J: step, S: "${{ env.J }}-s", CI: other, GITHUB_JOB: forged, RUNNER_OS: forged}
        """,
        env=[{"W": "w", "J": "w"}, {"J": "${{ env.W }}-job"}],
        base={"BASE": "b", "W": "base"},
    )
    assert job.said == ["w w-job - true build Linux b", "w step w-job-s other build Linux b"]


def test_default_variables(tmp_path: Path) -> None:
    names = "GITHUB_ACTIONS GITHUB_ACTION GITHUB_ACTOR GITHUB_EVENT_NAME GITHUB_REPOSITORY GITHUB_SHA RUNNER_NAME"
    job = Driven(tmp_path, f"- run: show {names}\n- {{id: x, run: show GITHUB_ACTION}}\n- run: show GITHUB_ACTION")
    assert job.said == ["true __run ann push acme/app abc bench", "x", "__run_2"]
    environment = job.machine.commands[0].environment
    layout = job.machine.layout
    assert environment["GITHUB_WORKSPACE"] == layout.workspace == job.machine.commands[0].directory
    assert environment["RUNNER_TEMP"] == layout.temp
    assert Path(environment["GITHUB_EVENT_PATH"]).read_text() == '{"n":1}'
    assert "GITHUB_TOKEN" not in environment


REFUSED = [("env NODE_OPTIONS=--require x", "`NODE_OPTIONS`"), ("env LD_PRELOAD=/x.so", "`LD_PRELOAD`")]


@pytest.mark.parametrize(("line", "named"), REFUSED, ids=[case[0] for case in REFUSED])
def test_dangerous_variables_are_refused(tmp_path: Path, line: str, named: str) -> None:
    job = Driven(tmp_path, f"- run: {line}\n- run: show NODE_OPTIONS LD_PRELOAD")
    assert job.said == ["- -"]
    assert named in job.marked[0]


def test_a_file_that_cannot_be_understood_fails_the_step(tmp_path: Path) -> None:
    job = Driven(tmp_path, "- {run: out nonsense, name: bad}\n- run: say next")
    assert job.steps["bad"] == "failed"
    assert job.said == []
    assert job.marked == [
        "##[error]Unable to process file command 'output' successfully.",
        "##[error]Invalid format 'nonsense' on line 1: it is neither `NAME=value` nor `NAME<<DELIMITER`",
    ]


def test_masks_hold_from_the_next_byte_on(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - run: |
            say ::add-mask::first%0Asecond
            say first second third
            say ::add-mask::
        """,
    )
    assert job.said == ["*** *** third"]
    assert job.machine.masks == ["first\nsecond", "first", "second"]
    assert job.marked == ["##[warning]Can't add secret mask for empty string in ##[add-mask] command."]


def test_annotations(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        f"""
        - name: it
          run: |
            say ::error file=./a.py,line=3,endLine=5,col=2,title=T::bad
            say ::warning file={tmp_path}/work/b.py,line=3,col=2,endColumn=4::careful
            say ::notice line=x,endLine=7::hear
            say ##[error]old form
            say ::debug::hidden
        """,
    )
    told = [
        (one.level, one.file, one.line, one.end_line, one.column, one.end_column, one.title, one.message)
        for one in job.step("it").annotations
    ]
    assert told == [
        ("error", "a.py", 3, 5, 0, 0, "T", "bad"),
        ("warning", "b.py", 3, 0, 2, 4, "", "careful"),
        ("notice", "", 7, 7, 0, 0, "", "hear"),
        ("error", "", 0, 0, 0, 0, "", "old form"),
    ]
    assert job.steps["it"] == "succeeded"
    assert "hidden" not in "".join(job.machine.order).split("##[endgroup]")[-1]


def test_debug_is_shown_when_asked_for(tmp_path: Path) -> None:
    job = Driven(
        tmp_path, "- run: |\n    say ::debug::seen\n    show RUNNER_DEBUG", secrets={"ACTIONS_STEP_DEBUG": "true"}
    )
    assert "##[debug]seen" in "".join(job.machine.order)


def test_commands_can_be_stopped(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - name: one
          run: |
            say ::stop-commands::pause7
            say ::warning::not
            say ::pause7::
            say ::warning::yes
        - name: two
          run: say ::stop-commands::warning
        """,
    )
    assert [one.message for one in job.step("one").annotations] == ["yes"]
    assert job.steps["two"] == "failed"
    assert "::warning::not" in job.said


def test_deprecated_commands_are_honoured_and_said_to_be_so(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        "- {id: a, run: 'say ::set-output name=x::1', name: old}\n- run: say ${{ steps.a.outputs.x }}",
    )
    assert job.said == ["1"]
    assert job.step("old").annotations[0].level == "warning"


@pytest.mark.parametrize("command", ["::set-env name=X::1", "::add-path::/x"])
def test_unsafe_commands_fail_unless_allowed(tmp_path: Path, command: str) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    steps = f"- {{name: it, run: 'say {command}'}}\n- {{run: 'show X PATH', if: always()}}"
    refused = Driven(tmp_path / "1", steps, base={"PATH": "/bin"})
    assert (refused.steps["it"], refused.said) == ("failed", ["- /bin"])
    allowed = Driven(tmp_path / "2", steps, base={"PATH": "/bin"}, env=[{"ACTIONS_ALLOW_UNSECURE_COMMANDS": "true"}])
    assert allowed.steps["it"] == "succeeded"
    assert allowed.said != ["- /bin"]


def test_problem_matchers(tmp_path: Path) -> None:
    file = (
        '{"problemMatcher":{"owner":"x","pattern":{"regexp":"^(\\\\S+):(\\\\d+) (.*)$","file":1,"line":2,"message":3}}}'
    )
    job = Driven(
        tmp_path,
        """
        - run: "say ::add-matcher::m.json"
        - name: it
          run: |
            say src/a.c:3 broken
            say fine
            say ::remove-matcher owner=x::
            say src/a.c:4 not seen
        - {name: none, run: "say ::add-matcher::nowhere.json"}
        """,
        files={"m.json": file.replace('"problemMatcher":{', '"problemMatcher":[{').replace("}}}", "}}]}")},
    )
    assert [(one.file, one.line, one.message) for one in job.step("it").annotations] == [("src/a.c", 3, "broken")]
    assert "##[error]src/a.c:3 broken" in job.marked
    assert job.steps["none"] == "failed"


def test_summaries_are_kept_and_masked(tmp_path: Path) -> None:
    job = Driven(tmp_path, "- name: it\n  run: |\n    summary # secret\n    summary more", secrets={"A": "secret"})
    assert job.step("it").summary == "# ***\nmore\n"


def test_what_is_said_is_shown_in_groups(tmp_path: Path) -> None:
    job = Driven(tmp_path, "- run: |\n    say ::group::inner\n    say x\n    say ::endgroup::", env=[{"A": "1"}])
    lines = job.machine.log[1].splitlines()
    assert lines[0] == "##[group]Run say ::group::inner"
    assert lines[-6:] == ["env:", "  A: 1", "##[endgroup]", "##[group]inner", "x", "##[endgroup]"]
    assert any(line.startswith("shell: ") and line.endswith(" -e {0}") for line in lines)


def test_outputs_of_the_job(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        "- id: a\n  run: |\n    out x=1\n    out s=a shh!\n",
        secrets={"S": "shh!"},
        outputs={"x": "${{ steps.a.outputs.x }}-${{ matrix.v }}", "s": "${{ steps.a.outputs.s }}", "e": ""},
        matrix={"v": 2},
        environment_url="https://x/${{ steps.a.outputs.x }}",
    )
    assert job.end.outputs == {"x": "1-2"}
    assert job.end.environment_url == "https://x/1"
    assert job.marked == ["##[warning]Skip output 's' since it may contain secret."]


def test_contexts_hold_what_they_should(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        """
        - run: |
            say ${{ inputs.deep }} ${{ vars.V }} ${{ needs.a.result }} ${{ needs.a.outputs.o }} ${{ secrets.s }}
            say ${{ strategy.job-total }} ${{ matrix.os }} ${{ github.event.n }} ${{ github.job }} ${{ runner.name }}
            say ${{ hashFiles('none') }}|${{ github.token }}|${{ secrets.GITHUB_TOKEN }}|${{ runner.environment }}
        """,
        inputs={"deep": True},
        vars={"V": "v"},
        needs={"a": {"result": "success", "outputs": {"o": "1"}}},
        strategy={"job-total": 3},
        matrix={"os": "linux"},
        secrets={"S": "shh!", "GITHUB_TOKEN": "ghs_1"},
    )
    assert job.said == ["true v success 1 ***", "3 linux 1 build bench", "|***|***|self-hosted"]


WHERE = [
    ("sub", "succeeded"),
    ("${{ github.job }}", "succeeded"),
    ("../work/sub", "succeeded"),
    ("..", "failed"),
    ("out", "failed"),
    ("missing", "failed"),
]


@pytest.mark.parametrize(("folder", "conclusion"), WHERE, ids=[case[0] for case in WHERE])
def test_working_directories(tmp_path: Path, folder: str, conclusion: str) -> None:
    job = Driven(
        tmp_path,
        f"- {{run: until ready}}\n- {{run: say here, working-directory: '{folder}', name: it}}",
        files={"sub/x": "", "build/x": ""},
    )
    (tmp_path / "work/out").symlink_to("/")
    job.machine.release("ready")
    assert job.steps["it"] == conclusion


def test_defaults_of_scripts(tmp_path: Path) -> None:
    job = Driven(
        tmp_path,
        "- run: say a\n- {run: say b, shell: bash, working-directory: .}",
        files={"sub/x": ""},
        defaults={"shell": "sh", "working_directory": "${{ env.D }}"},
        env=[{"D": "sub"}],
    )
    first, second = job.machine.commands
    assert (first.argv[0].rpartition("/")[2], first.directory) == ("sh", f"{job.machine.layout.workspace}/sub")
    assert second.argv[0].endswith("bash")
