import json

from ostler.cli.local_run.happenings import (
    Happening,
    JobFinished,
    JobRow,
    JobStarted,
    Line,
    Notice,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
)
from ostler.cli.local_run.style import Style, coloured, duration
from ostler.cli.local_run.tree_view import TreeView
from ostler.cli.local_run.views import JsonView, PlainView, View
from ostler.protocol.v1.runner_messages import Annotation

STARTED = RunStarted(
    run="run_1",
    workflow="ci.yml",
    name="CI",
    trigger="push",
    ref="refs/heads/main",
    sha="a" * 40,
    folder="/f",
    jobs=(JobRow(id="build", name="build"), JobRow(id="test", name="test", needs=("build",))),
)
STORY: tuple[Happening, ...] = (
    STARTED,
    JobStarted(job="build", name="build"),
    StepStarted(job="build", step=0, name="Compile"),
    Line(job="build", step=0, text="##[group]Run make"),
    Line(job="build", step=0, text="##[endgroup]"),
    Line(job="build", step=0, text="cc \x1b[31mred\x1b[0m \x1b]0;title\x07main.c"),
    StepFinished(
        job="build",
        step=0,
        name="Compile",
        conclusion="failure",
        outcome="failure",
        exit_code=2,
        duration_ms=1500,
        annotations=(Annotation(level="error", message="no semicolon", file="main.c", line=3),),
        summary="**broken**",
    ),
    JobFinished(job="build", name="build", conclusion="failure", duration_ms=1600, log="/f/build.log"),
    JobFinished(job="test", name="test", conclusion="skipped", note="build failed"),
    RunFinished(run="run_1", conclusion="failure", duration_ms=1700, artifacts={"logs": "/f/logs"}),
)


def told(view: View) -> None:
    for number, happening in enumerate(STORY):
        view.show(happening, number / 10)
    view.close()


def shown(*, quiet: bool = False, colours: bool = False) -> str:
    written: list[str] = []
    told(PlainView(written.append, Style(coloured=colours), quiet=quiet))
    return "".join(written)


def test_json_is_one_object_a_line_without_empty_fields() -> None:
    written: list[str] = []
    told(JsonView(written.append))
    lines = [json.loads(line) for line in "".join(written).splitlines()]
    assert [line["event"] for line in lines][:3] == ["run_started", "job_started", "step_started"]
    assert lines[-1] == {
        "event": "run_finished",
        "run": "run_1",
        "conclusion": "failure",
        "duration_ms": 1700,
        "artifacts": {"logs": "/f/logs"},
    }
    assert "id" not in lines[2]


def test_plain_lines_stand_behind_the_name_of_their_job() -> None:
    text = shown()
    assert "build | ▸ Compile\n" in text
    assert "build | ✗ Compile exit 2 1.5s\n" in text
    assert "test  | - skipped: build failed\n" in text
    assert "##[" not in text


def test_plain_text_obeys_no_control_sequence() -> None:
    assert "build | cc red main.c\n" in shown()
    assert "cc \x1b[31mred\x1b[0m main.c\n" in shown(colours=True)


def test_the_end_tells_what_failed_then_remarks_and_summaries() -> None:
    text = shown()
    places = [
        text.rindex(part)
        for part in ("✗ build", "error main.c:3 [build]", "**broken**", "artifact logs", "✗ failed in")
    ]
    assert places == sorted(places)
    assert text.endswith("✗ failed in 1.7s: 1 failed, 1 skipped; logs in /f\n")


def test_quiet_repeats_the_last_lines_of_what_failed_and_nothing_else() -> None:
    text = shown(quiet=True)
    assert "    cc red main.c\n" in text
    assert "▸" not in text


def test_the_tree_tells_a_failure_at_once_and_ends_with_every_job() -> None:
    written: list[str] = []
    view = TreeView(written.append, Style(coloured=False), lambda: (60, 20))
    told(view)
    text = "".join(written)
    assert "build · ✗ Compile exit 2 1.5s\n" in text
    last = text[text.rindex("\x1b[0J") :]
    assert "✗ build 1.6s\n- test build failed\n" in last
    assert last.endswith("\x1b[?25h")


def test_the_tree_fits_into_the_terminal() -> None:
    view = TreeView(lambda text: None, Style(coloured=True), lambda: (24, 6))
    jobs = tuple(JobRow(id=f"j{number}", name=f"a job with a long name {number}") for number in range(30))
    view.show(RunStarted(run="r", workflow="w", name="n", trigger="push", ref="r", sha="0", folder="f", jobs=jobs), 0.0)
    for job in jobs:
        view.show(JobStarted(job=job.id, name=job.name), 1.0)
    rows = view.rows(2.0)
    assert len(rows) <= 5
    assert rows[0].startswith("…")
    assert all("…" in row for row in rows[1:])


def test_a_matrix_takes_the_place_of_its_job() -> None:
    view = TreeView(lambda text: None, Style(coloured=False), lambda: (80, 24))
    view.show(STARTED, 0.0)
    view.show(JobStarted(job="build[0]", name="build (a)"), 1.0)
    view.show(JobStarted(job="build[1]", name="build (b)"), 1.0)
    assert [row.lstrip("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏○ ") for row in view.rows(1.0)] == ["test", "build (a) 0.0s", "build (b) 0.0s"]


def test_a_notice_is_shown_by_all() -> None:
    written: list[str] = []
    PlainView(written.append, Style(coloured=False), quiet=False).show(Notice(message="here"), 0.0)
    TreeView(written.append, Style(coloured=False), lambda: (80, 24)).show(Notice(message="there"), 0.0)
    assert "notice: here\n" in written
    assert "notice: there\n" in "".join(written)


def test_colours_go_by_what_people_set() -> None:
    assert coloured({}, terminal=True)
    assert not coloured({"NO_COLOR": "1"}, terminal=True)
    assert not coloured({}, terminal=False)
    assert coloured({"FORCE_COLOR": "1"}, terminal=False)


def test_durations_are_short() -> None:
    assert [duration(seconds) for seconds in (0.04, 9.94, 12.4, 61.0)] == ["0.0s", "9.9s", "12s", "1m 01s"]
