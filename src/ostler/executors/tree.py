"""Finding the processes of a job without a cgroup's help: by descent, and by the marker in their environment.

Descent finds everything as long as the supervisor, a subreaper, lives. After its death orphans belong to nobody, and
the marker variable is what still tells them from the host's own processes. A process can shed the marker by clearing
its environment; only a cgroup holds against that. Where there is no /proc nothing is found, and nobody is killed who
was not known by his number.
"""

from __future__ import annotations

import os
import select
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_ROUNDS, _PATIENCE_MS, _LOOK_AGAIN_MS = 1_000, 5_000, 5

MARKER = "OSTLER_ATTEMPT"
"""The variable that every process of a job carries; its value is ``<job id>.<fence>``."""


def descendants(ancestor: int) -> list[int]:
    """Return all living processes below one, zombies left out."""
    children: dict[int, list[int]] = {}
    for pid in _pids():
        state, parent = _state_and_parent(pid)
        if state not in ("Z", "X", ""):
            children.setdefault(parent, []).append(pid)
    found: list[int] = []
    queue = [ancestor]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def marked(attempt: str) -> list[int]:
    """Return all living processes of an attempt by their marker, this process left out."""
    entry = f"{MARKER}={attempt}".encode()
    return [pid for pid in _pids() if pid != os.getpid() and entry in _read(f"/proc/{pid}/environ").split(b"\0")]


def kill_marked(attempt: str) -> None:
    """Kill every process of an attempt that carries the marker, and see it gone."""
    kill_all(lambda: marked(attempt))


def kill_all(living: Callable[[], list[int]]) -> bool:
    """Kill what is listed, list again until nothing is, and wait for each to be gone; say whether that came about."""
    for _ in range(_ROUNDS):
        pids = living()
        if not pids:
            return True
        for handle in [_kill_with_handle(pid) for pid in pids]:
            _await_end(handle)
    return not living()


def _kill_with_handle(pid: int) -> int | None:
    """Kill a process; return what becomes readable when it is gone, if the system has that."""
    try:
        handle = os.pidfd_open(pid)
    except (OSError, AttributeError):
        handle = None
    kill(pid)
    return handle


def _await_end(handle: int | None) -> None:
    waiting = select.poll()
    if handle is None:
        waiting.poll(_LOOK_AGAIN_MS)
        return
    waiting.register(handle, select.POLLIN)
    waiting.poll(_PATIENCE_MS)
    os.close(handle)


def kill(pid: int) -> None:
    """Kill a process that may be gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def name(pid: int) -> str:
    """Return a process's short name, or nothing if it is gone."""
    return _read(f"/proc/{pid}/comm").decode("utf-8", "replace").strip()


def dying(pid: int) -> bool:
    """Whether a process is gone or only waits to be reaped."""
    return _state_and_parent(pid)[0] in ("Z", "X", "")


def start_time(pid: int) -> str:
    """Return what tells a process from a later one with the same number; nothing if it is gone or this is no Linux."""
    fields = _fields(pid)
    return fields[19] if len(fields) > 19 else ""


def alive(pid: int, started: str) -> bool:
    """Whether the process with this number is still the one that was started then."""
    if start_time(pid) != started:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not (started and dying(pid))


def _pids() -> list[int]:
    try:
        return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    except FileNotFoundError:
        return []


def _state_and_parent(pid: int) -> tuple[str, int]:
    fields = _fields(pid)
    return (fields[0], int(fields[1])) if len(fields) > 1 else ("", 0)


def _fields(pid: int) -> list[str]:
    return _read(f"/proc/{pid}/stat").decode("ascii", "replace").rpartition(")")[2].split()


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 1 << 20)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
