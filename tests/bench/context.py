"""What a bench module is given: a directory on a real disk, real servers, floors of this very run, and repetition.

Everything is made when it is first asked for and shared by the whole run, so that a floor and the figures that are
compared with it see the same machine.
"""

import inspect
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from tests.bench.figure import Floor, Sample
from tests.parts.postgres import PostgresCluster
from tests.parts.s3 import S3Server

_BUILD = Path(__file__).parents[2] / "build"
"""Not /tmp, which may be memory: what is measured is the disk that this checkout lies on."""

Measurement = Callable[[], float] | Callable[[], Awaitable[float]]


class Context:
    """One run of the benches; a context manager that cleans up what it started."""

    def __init__(self, *, quick: bool = False) -> None:
        self.quick = quick
        self._parts = ExitStack()
        self._floors: dict[str, Floor] = {}
        self._postgres: PostgresCluster | None = None
        self._s3: S3Server | None = None
        self._directories = 0
        _BUILD.mkdir(exist_ok=True)
        self._root = Path(self._parts.enter_context(TemporaryDirectory(prefix="bench-", dir=_BUILD)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self._parts.close()

    @property
    def seconds(self) -> float:
        """How long one measurement of a rate should take."""
        return 0.3 if self.quick else 2.0

    @property
    def repetitions(self) -> int:
        """How often to measure: the median counts, the spread is shown."""
        return 1 if self.quick else 3

    def scaled(self, count: int, *, quick: int) -> int:
        """How many rows, runners or lines to work on."""
        return quick if self.quick else count

    def directory(self) -> Path:
        """A fresh directory on disk, which is removed at the end of the run."""
        self._directories += 1
        directory = self._root / str(self._directories)
        directory.mkdir()
        return directory

    def postgres(self) -> PostgresCluster:
        """A cluster that syncs to disk as in production; PartMissing skips the module."""
        if self._postgres is None:
            self._postgres = self._parts.enter_context(PostgresCluster(durable=True))
        return self._postgres

    def s3(self) -> S3Server:
        """An S3 server; PartMissing skips the module."""
        if self._s3 is None:
            self._s3 = self._parts.enter_context(S3Server())
        return self._s3

    async def repeat(self, measurement: Measurement) -> Sample:
        """The median of some measurements and how far they were apart."""
        values: list[float] = []
        for _ in range(self.repetitions):
            value = measurement()
            values.append(await value if inspect.isawaitable(value) else value)
        return Sample.of(values)

    async def floor(self, name: str, unit: str, measurement: Measurement) -> Floor:
        """The floor of that name: measured once a run, however many figures stand on it."""
        if name not in self._floors:
            self._floors[name] = Floor(name, unit, await self.repeat(measurement))
        return self._floors[name]

    def floors(self) -> list[Floor]:
        """All floors that were measured so far."""
        return list(self._floors.values())


def rate(seconds: float, once: Callable[[], object], *, each: float = 1.0) -> float:
    """How many units a second, when `once` does `each` of them and is repeated for so long."""
    rounds = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        once()
        rounds += 1
    return rounds * each / elapsed


def cpu_rate(seconds: float, once: Callable[[], object], *, each: float = 1.0) -> float:
    """How many units a second of this thread's CPU time: what one core does, however busy the machine is."""
    rounds = 0
    start = time.thread_time()
    while (elapsed := time.thread_time() - start) < seconds:
        once()
        rounds += 1
    return rounds * each / elapsed


async def async_rate(seconds: float, once: Callable[[], Awaitable[object]], *, each: float = 1.0) -> float:
    """The same for something awaited."""
    rounds = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        await once()
        rounds += 1
    return rounds * each / elapsed


async def durations(count: int, once: Callable[[], Awaitable[object]]) -> list[float]:
    """How long each of so many rounds took, in milliseconds, sorted: index it for percentiles."""
    taken: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        await once()
        taken.append((time.perf_counter() - start) * 1000)
    return sorted(taken)


def percentile(ordered: list[float], share: float) -> float:
    """The value that so many percent are not above."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))]
