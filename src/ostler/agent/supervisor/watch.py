"""Looking after the disk while a job runs: the floor of free space on the file system, and the job's own quota.

The free space is one system call, made every second. Measuring a tree is expensive, so it is done in small slices
between other work, and only when the file system lost as much space since the last time as the job had left; an
unconditional look now and then, the rarer the longer it takes, covers space that others gave back meanwhile.
"""

from __future__ import annotations

import os

from ostler.agent.supervisor.clock import now_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FLOOR_BYTES = 64 << 20
_SLICE_MS = 5
_LOOK_ANYWAY_MS = 5_000
_REST_FACTOR = 50
_BLOCK = 512


class DiskWatch:
    """``fault`` is asked now and then and answers with what is wrong, or nothing."""

    __slots__ = (
        "_floor",
        "_free_then",
        "_left_then",
        "_look_after",
        "_measured_at",
        "_path",
        "_quota",
        "_walk",
        "_walk_began",
    )

    def __init__(self, path: str, quota: int, floor: int) -> None:
        self._path: str = path
        self._quota: int = quota
        self._floor: int = floor
        self._walk: Iterator[int] | None = None
        self._measured_at: int = now_ms()
        self._free_then: int = free_bytes(path)
        self._left_then: int = quota
        self._look_after: int = _LOOK_ANYWAY_MS
        self._walk_began: int = 0

    @property
    def busy(self) -> bool:
        """Whether a measurement waits for its next slice."""
        return self._walk is not None

    def fault(self) -> str:
        """Say in a sentence what is wrong with the disk."""
        free = free_bytes(self._path)
        if free < self._floor:
            return f"only {free} bytes are free on the runner's disk; jobs stop below {self._floor}"
        if not self._quota:
            return ""
        now = now_ms()
        due = self._free_then - free >= self._left_then or now - self._measured_at >= self._look_after
        if self._walk is None and due:
            self._walk = _measure(self._path)
            self._walk_began = now
        return self._advance(now, free)

    def _advance(self, now: int, free: int) -> str:
        if self._walk is None:
            return ""
        for used in self._walk:
            if used > self._quota:
                self._walk = None
                return f"the job's directory holds more than its quota of {self._quota} bytes"
            self._left_then = self._quota - used
            if now_ms() - now >= _SLICE_MS:
                return ""
        self._walk = None
        self._measured_at, self._free_then = now, free
        self._look_after = max(_LOOK_ANYWAY_MS, _REST_FACTOR * (now_ms() - self._walk_began))
        return ""


def free_bytes(path: str) -> int:
    """Return what an unprivileged writer could still add."""
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize


def _measure(path: str) -> Iterator[int]:
    """Yield the bytes found so far, after every directory; what vanishes meanwhile does not count."""
    used = 0
    waiting = [path]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    used += status.st_blocks * _BLOCK
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            pass
        yield used
