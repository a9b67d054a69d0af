"""What one attempt leaves on disk, and in which order, so that any agent can pick it up at any moment.

::

    work/     the workspace; the only part that may hold something before
    home/ tmp/    empty at first: the job's HOME and TMPDIR
    scripts/  the steps' scripts
    spool     log frames
    events    one JSON object a line, ``seq`` counting from 1
    state     who supervises this: pid, its start time, the boot, the cgroups
    control   the supervisor's socket, once the agent that started it is gone
    result    written whole, once, last; its presence ends the attempt

The result's room is taken before the job starts, in ``result.new``, and more than it needs: what is given back when
the disk is full is enough for the last events and lines.

Making and deleting files is the most expensive part of a short job, so an agent may hand over the directory of an
ended attempt, emptied (``ready_again``), instead of a new one.

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
_PLACES = ("work", "home", "tmp", "scripts")
_FILES = ("events", "spool", "state", "result.new")
_RESULT_BYTES = 16 << 10
_NEW = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_HAS_ATTRIBUTES = hasattr(os, "listxattr")
_OUT_OF_ROOM = (errno.ENOSPC, errno.EDQUOT)


class DiskFull(Exception):
    """The disk, or the quota on it, has no room for what must be written."""

    code = "disk_full"


class Directory:
    """The directory of one attempt, open. It must exist: whoever made it waits to see it taken."""

    __slots__ = ("_events", "_result", "_sequence", "descriptor", "path")

    def __init__(self, path: str) -> None:
        self.path: str = path
        self.descriptor: int = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._events: int = -1
        self._result: int = -1
        self._sequence: int = 0

    @property
    def sequence(self) -> int:
        """The last event's number."""
        return self._sequence

    def prepare(self, *, ready: bool) -> None:
        """Make what the job will find; take back what another user left in the workspace.

        What ``ready_again`` has just looked through is not looked through once more.
        """
        for name in () if ready else _PLACES:
            try:
                os.mkdir(name, 0o700, dir_fd=self.descriptor)
            except FileExistsError:
                if name == "work":
                    removal.take_over(self.descriptor, name)
                elif not _as_new(self.descriptor, name):
                    removal.remove(self.descriptor, name)
                    os.mkdir(name, 0o700, dir_fd=self.descriptor)
        self._events = self.create("events", os.O_APPEND | os.O_TRUNC)
        self._result = self.create("result.new")
        write_all(self._result, bytes(_RESERVE_BYTES))

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
        descriptor = self.create("state")
        try:
            write_all(descriptor, _line(state))
        finally:
            os.close(descriptor)

    def write_result(self, result: dict[str, Any]) -> None:
        """End the attempt, durably."""
        content = _line(result)
        os.pwrite(self._result, content, 0)
        os.ftruncate(self._result, len(content))
        os.fsync(self._result)
        os.rename("result.new", "result", src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        os.fsync(self.descriptor)

    def release_reserve(self) -> None:
        """Give back the room that was kept for the last words."""
        os.ftruncate(self._result, _RESULT_BYTES)

    def close(self) -> None:
        """Let go of everything."""
        for descriptor in (self._events, self._result, self.descriptor):
            os.close(descriptor)


def ready_again(parent: int, name: str) -> bool:
    """Empty an ended attempt's directory for the next one; say whether it is as good as new, else it must be deleted.

    A place counts as new only if nothing of the job is in it or on it: no entry, no changed mode or owner, and no
    extended attribute, in which a default access list would live on.
    """
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        os.rename("result", "result.new", src_dir_fd=descriptor, dst_dir_fd=descriptor)
        removal.remove(descriptor, "control")
        if set(os.listdir(descriptor)) != {*_PLACES, *_FILES}:
            return False
        _empty_scripts(descriptor)
        for file in _FILES:
            os.close(os.open(file, _NEW | os.O_TRUNC, dir_fd=descriptor))
        return all(_as_new(descriptor, place) for place in _PLACES)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _empty_scripts(parent: int) -> None:
    scripts = os.open("scripts", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        for entry in os.listdir(scripts):
            os.unlink(entry, dir_fd=scripts)
    finally:
        os.close(scripts)


def _as_new(parent: int, name: str) -> bool:
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        status = os.fstat(descriptor)
        ours = (status.st_mode & 0o7777, status.st_uid) == (0o700, os.geteuid())
        if not ours or (_HAS_ATTRIBUTES and os.listxattr(descriptor)):
            return False
        with os.scandir(descriptor) as entries:  # one entry is enough, however many there are
            return next(entries, None) is None
    finally:
        os.close(descriptor)


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
