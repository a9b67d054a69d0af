"""What one attempt leaves on disk, and in which order, so that any agent can pick it up at any moment.

::

    work/     the workspace; the only part that may be there before
    home/ tmp/    fresh: the job's HOME and TMPDIR
    scripts/  the steps' scripts
    state     who supervises this: pid, its start time, the boot, the cgroups
    control   the supervisor's socket
    spool     log frames
    events    one JSON object a line, ``seq`` counting from 1
    result    written whole, once, last; its presence ends the attempt
    reserve   kept so that the last words can be written when the disk is full

Everything is opened relative to the directory's descriptor and without following links: a job that renames or links
things around its workspace cannot redirect the supervisor's writes.
"""

from __future__ import annotations

import errno
import json
import os

from ostler.agent.supervisor import removal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RESERVE_BYTES = 64 << 10
_FRESH = ("home", "tmp", "scripts")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_OUT_OF_ROOM = (errno.ENOSPC, errno.EDQUOT)


class DiskFull(Exception):
    """The disk, or the quota on it, has no room for what must be written."""

    code = "disk_full"


class Directory:
    """The directory of one attempt, open. It must exist: whoever made it waits to see it taken."""

    __slots__ = ("_events", "_sequence", "descriptor", "path")

    def __init__(self, path: str) -> None:
        self.path: str = path
        self.descriptor: int = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._events: int = -1
        self._sequence: int = 0

    @property
    def sequence(self) -> int:
        """The last event's number."""
        return self._sequence

    def prepare(self) -> None:
        """Make what the job will find; take back what another user left in the workspace."""
        for name in _FRESH:
            removal.remove(self.descriptor, name)
            os.mkdir(name, 0o700, dir_fd=self.descriptor)
        try:
            os.mkdir("work", 0o700, dir_fd=self.descriptor)
        except FileExistsError:
            removal.take_over(self.descriptor, "work")
        self._events = self.create("events", os.O_APPEND)
        reserve = self.create("reserve")
        try:
            write_all(reserve, bytes(_RESERVE_BYTES))
        finally:
            os.close(reserve)

    def create(self, name: str, flags: int = os.O_TRUNC) -> int:
        """Open a file of ours for writing."""
        return os.open(name, _NEW | flags, 0o600, dir_fd=self.descriptor)

    def write_script(self, name: str, text: str) -> str:
        """Store a step's script and return its path."""
        descriptor = self.create(f"scripts/{name}")
        try:
            write_all(descriptor, text.encode())
        finally:
            os.close(descriptor)
        return f"{self.path}/scripts/{name}"

    def append_event(self, event: dict[str, Any]) -> None:
        """Add an event under the next number."""
        write_all(self._events, _line({"seq": self._sequence + 1, **event}))
        self._sequence += 1

    def write_state(self, state: dict[str, Any]) -> None:
        """Say who supervises; from here on the attempt can be found. A crash of the host ends it anyway: no sync."""
        self._replace("state", state, durable=False)

    def write_result(self, result: dict[str, Any]) -> None:
        """End the attempt, durably."""
        self._replace("result", result, durable=True)

    def release_reserve(self) -> None:
        """Give back the room that was kept for the last words."""
        self._unlink("reserve")

    def close(self) -> None:
        """Remove what only a running supervisor needs."""
        self._unlink("reserve")
        self._unlink("control")
        if self._events >= 0:
            os.close(self._events)
        os.close(self.descriptor)

    def _replace(self, name: str, content: dict[str, Any], *, durable: bool) -> None:
        descriptor = self.create(f"{name}.new")
        try:
            write_all(descriptor, _line(content))
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(f"{name}.new", name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        if durable:
            os.fsync(self.descriptor)

    def _unlink(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self.descriptor)
        except FileNotFoundError:
            pass


def write_all(descriptor: int, data: bytes) -> None:
    """Append everything or nothing: what a full disk cut off is taken back."""
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, memoryview(data)[written:])
    except OSError as reason:
        if written:
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
        if reason.errno in _OUT_OF_ROOM:
            raise DiskFull(reason.strerror) from reason
        raise


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"
