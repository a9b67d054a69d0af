"""A measured number beside what it should be: the unit of every bench and every row of the table.

Absolute times move with the machine. Wherever a goal allows it, a figure is compared with a floor that was measured in
the same run, and the ratio is what counts.
"""

from statistics import median
from typing import Literal

import msgspec

Verdict = Literal["met", "missed", "no goal"]


class Sample(msgspec.Struct, frozen=True):
    """What repeated measurements gave."""

    median: float
    spread: float
    """(largest - smallest) / median: above about 0.2 the machine was too busy to trust the figure."""

    @classmethod
    def of(cls, values: list[float]) -> "Sample":
        middle = median(values)
        return cls(middle, (max(values) - min(values)) / middle if middle else 0.0)


class Floor(msgspec.Struct, frozen=True):
    """What this machine can do at all, without us."""

    name: str
    unit: str
    sample: Sample


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One row. `goal` is the number of the goal ("2.1"), or a word for what has none."""

    goal: str
    what: str
    measured: float
    unit: str
    spread: float
    """Of the measurements or of the floor, whichever is the noisier."""
    floor: float | None = None
    floor_name: str = ""
    ratio: float | None = None
    goal_text: str = ""
    verdict: Verdict = "no goal"


def absolute(
    goal: str,
    what: str,
    measured: Sample | float,
    unit: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Figure:
    """A figure with a goal in its own unit, or with none."""
    sample = _sample(measured)
    return Figure(
        goal=goal,
        what=what,
        measured=sample.median,
        unit=unit,
        spread=sample.spread,
        goal_text=_goal_text(at_least, at_most, unit),
        verdict=_verdict(sample.median, at_least, at_most),
    )


def compared(
    goal: str,
    what: str,
    measured: Sample | float,
    unit: str,
    floor: Floor,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Figure:
    """A figure whose goal is a multiple of a floor in the same unit."""
    sample = _sample(measured)
    ratio = sample.median / floor.sample.median
    return Figure(
        goal=goal,
        what=what,
        measured=sample.median,
        unit=unit,
        spread=max(sample.spread, floor.sample.spread),
        floor=floor.sample.median,
        floor_name=floor.name,
        ratio=ratio,
        goal_text=_goal_text(at_least, at_most, "x"),
        verdict=_verdict(ratio, at_least, at_most),
    )


def _sample(measured: Sample | float) -> Sample:
    return measured if isinstance(measured, Sample) else Sample(measured, 0.0)


def _goal_text(at_least: float | None, at_most: float | None, unit: str) -> str:
    bounds = [(">=", at_least), ("<=", at_most)]
    return " and ".join(f"{sign} {bound:g} {unit}" for sign, bound in bounds if bound is not None)


def _verdict(value: float, at_least: float | None, at_most: float | None) -> Verdict:
    if at_least is None and at_most is None:
        return "no goal"
    enough = at_least is None or value >= at_least
    little = at_most is None or value <= at_most
    return "met" if enough and little else "missed"
