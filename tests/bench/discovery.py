"""Finding the benches: every `bench_*.py` here, by what it says about itself.

A bench module has `GOALS`, the numbers of the goals it measures, and `measure(context)`, plain or async, which returns
figures. It is imported only if its goals are asked for.
"""

import ast
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, cast

from tests.bench.context import Context
from tests.bench.figure import Figure

Measure = Callable[[Context], list[Figure] | Awaitable[list[Figure]]]

_FOLDER = Path(__file__).parent


class Bench(NamedTuple):
    """One module of measurements."""

    name: str
    goals: tuple[str, ...]

    @property
    def measure(self) -> Measure:
        return cast("Measure", import_module(f"tests.bench.bench_{self.name}").measure)

    def named(self, prefix: str) -> bool:
        return self.name.startswith(prefix)

    def wanted(self, prefix: str) -> bool:
        return self.named(prefix) or any(goal.startswith(prefix) for goal in self.goals)


def discover(prefix: str = "") -> Iterator[Bench]:
    """The benches whose name or one of whose goals begins so, floors first."""
    paths = sorted(_FOLDER.glob("bench_*.py"), key=lambda path: (path.stem != "bench_floors", path.stem))
    for path in paths:
        bench = Bench(path.stem.removeprefix("bench_"), _goals(path))
        if bench.wanted(prefix):
            yield bench


def _goals(path: Path) -> tuple[str, ...]:
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="GOALS")], value=value):
                return tuple(ast.literal_eval(value))
            case _:
                continue
    raise ValueError(f"{path.name} does not say which GOALS it measures")
