"""The table must not flatter: verdicts, ratios and noise follow from the numbers alone."""

import pytest

from tests.bench.discovery import discover
from tests.bench.figure import Floor, Sample, absolute, compared
from tests.bench.report import Machine, Report, print_figures

FLOOR = Floor("bare spawns", "/s", Sample(100.0, 0.0))


@pytest.mark.parametrize(
    ("measured", "at_least", "at_most", "verdict"),
    [(80, 80, None, "met"), (79, 80, None, "missed"), (5, None, 5, "met"), (6, None, 5, "missed"), (6, 7, 9, "missed")],
)
def test_a_goal_is_met_at_its_bound_and_missed_beyond(
    measured: float, at_least: float | None, at_most: float | None, verdict: str
) -> None:
    assert absolute("1.1", "claims", measured, "ms", at_least=at_least, at_most=at_most).verdict == verdict


def test_a_figure_is_judged_by_its_ratio_to_the_floor() -> None:
    figure = compared("1.6", "jobs", Sample(79.0, 0.1), "/s", FLOOR, at_least=0.8)
    assert (figure.ratio, figure.floor, figure.goal_text, figure.verdict) == (0.79, 100.0, ">= 0.8 x", "missed")
    assert compared("1.6", "jobs", 80.0, "/s", FLOOR, at_least=0.8).verdict == "met"


def test_a_figure_is_as_noisy_as_the_floor_it_stands_on() -> None:
    shaky = Floor("fdatasync", "/s", Sample(100.0, 0.9))
    assert compared("2.2", "claims", Sample(500.0, 0.1), "/s", shaky, at_least=5).spread == 0.9


def test_without_a_goal_there_is_no_verdict() -> None:
    assert absolute("blobs", "reads", 1.0, "ms").verdict == "no goal"


def test_the_median_counts_and_the_spread_is_kept() -> None:
    assert Sample.of([1.0, 100.0, 2.0]) == Sample(2.0, 49.5)


def test_the_table_marks_noise_and_says_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report(machine=Machine(2, "system", "3.11", 0.5), quick=True)
    report.figures.append(compared("1.6", "jobs", Sample(1234.5, 0.5), "/s", FLOOR, at_least=0.8))
    report.skipped["store"] = "PostgreSQL is not installed"
    print_figures(report)
    table = capsys.readouterr().out
    for part in ("~1,234 /s", "100 (bare spawns)", "12.35", ">= 0.8 x", "skipped store: PostgreSQL", "--quick"):
        assert part in table


def test_every_bench_says_which_goals_it_measures() -> None:
    benches = list(discover())
    assert benches[0].name == "floors"
    assert all(bench.goals for bench in benches)
    assert [bench.name for bench in discover("blobs")] == ["blobs"]
    assert [bench.name for bench in discover("no such goal")] == []
