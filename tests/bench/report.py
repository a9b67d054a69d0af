"""What a run of the benches found, as a table for people and a structure for programs."""

import os
import platform
from typing import Self

import msgspec

from tests.bench.figure import Figure

_NOISY = 0.2
_HEADINGS = ("goal", "what", "measured", "floor", "ratio", "goal is", "verdict")
_RIGHT = frozenset({2, 3, 4})


class Machine(msgspec.Struct, frozen=True):
    """Where the figures come from: they mean little anywhere else."""

    processors: int
    system: str
    python: str
    load: float

    @classmethod
    def here(cls) -> Self:
        return cls(os.cpu_count() or 1, platform.platform(), platform.python_version(), os.getloadavg()[0])


class Report(msgspec.Struct):
    """Everything one run found; filled while it runs."""

    machine: Machine
    quick: bool
    figures: list[Figure] = msgspec.field(default_factory=list[Figure])
    skipped: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    failed: dict[str, str] = msgspec.field(default_factory=dict[str, str])


def print_figures(report: Report) -> None:
    """The table, then what is to be known before believing it."""
    rows = [_HEADINGS, *(_row(figure) for figure in report.figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    for row in rows:
        cells = [
            text.rjust(width) if column in _RIGHT else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    for kind, names in (("skipped", report.skipped), ("FAILED", report.failed)):
        for name, reason in names.items():
            print(f"{kind} {name}: {reason}")
    machine = report.machine
    print(f"\n{machine.processors} processors, {machine.system}, Python {machine.python}, load {machine.load:.1f}")
    if report.quick:
        print("--quick: each measured once and briefly; not for comparison")
    noisy = sum(figure.spread > _NOISY for figure in report.figures)
    if noisy:
        print(f"{noisy} figures marked ~ varied by more than {_NOISY:.0%} between repetitions")


def _row(figure: Figure) -> tuple[str, ...]:
    noise = "~" if figure.spread > _NOISY else ""
    return (
        figure.goal,
        figure.what,
        f"{noise}{_number(figure.measured)} {figure.unit}",
        "" if figure.floor is None else f"{_number(figure.floor)} ({figure.floor_name})",
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        figure.goal_text,
        figure.verdict,
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
