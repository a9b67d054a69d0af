"""The log of a job whose steps may write at the same time: each has a masker of its own, and no two share a line.

It also notes which lines are whose, which the reports of the steps say.
"""

from __future__ import annotations

from collections.abc import Iterable

from ostler.agent.supervisor.directory import Directory
from ostler.agent.supervisor.spool import Spool
from ostler.logs.masker import Masker


class StepLog(Spool):
    """See the module. Steps that run one after the other share the first masker."""

    __slots__ = ("_aside", "_besides", "_first", "_last", "_last_step")

    def __init__(self, directory: Directory, secrets: Iterable[str], limit: int) -> None:
        super().__init__(directory, list(secrets), limit)
        self._besides: dict[int, Masker] = {}
        self._aside = self._new_masker()
        self._first: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._last_step = 0

    def add_secret(self, secret: str) -> None:
        """Mask one more, in all that was not written yet."""
        self._secrets.append(secret)
        for masker in (self._masker, self._aside, *self._besides.values()):
            masker.add(secret.encode("utf-8", "surrogatepass"))

    def open_beside(self, step: int) -> None:
        """Let a step write while others do."""
        self._besides[step] = self._new_masker()

    def write(self, data: bytes, step: int) -> None:
        beside = self._besides.get(step)
        self._take((self._masker if beside is None else beside).feed(data), step)

    def end_step(self, step: int) -> None:
        beside = self._besides.pop(step, None)
        self._take((self._masker if beside is None else beside).finish(), step)
        if self._open_line and self._last_step == step:
            self._take(b"\n", step)

    def masked(self, text: str) -> str:
        if not text:
            return text
        data = text.encode("utf-8", "replace")
        return (self._aside.feed(data) + self._aside.finish()).decode("utf-8", "replace")

    def lines_of(self, step: int) -> tuple[int, int]:
        """Return the first and the last line that a step wrote; zeros if it wrote none."""
        return self._first.get(step, 0), self._last.get(step, 0)

    def _take(self, data: bytes, step: int) -> None:
        if data and self._open_line and step != self._last_step:
            super()._take(b"\n", self._last_step)
        before = self.lines
        super()._take(data, step)
        if data:
            self._last_step = step
            lines = self.lines + self._open_line
            if lines > before:
                self._first.setdefault(step, before + 1)
                self._last[step] = lines

    def _new_masker(self) -> Masker:
        return Masker(secret.encode("utf-8", "surrogatepass") for secret in self._secrets)
