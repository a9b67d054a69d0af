"""One cgroup per job, on version 1, version 2 and both at once: limits, kill, and what was consumed.

A host may keep its controllers in version 1 while version 2 only freezes and kills, or have all in one tree. So every
controller is looked up by itself, below the cgroup that this process was given: what the operator allowed the agent
stays the ceiling of its jobs. A job only joins the hierarchies that it needs: joining one of version 1 costs
milliseconds, being born in one of version 2 nothing.

On version 2 a cgroup cannot hold processes and hand controllers to its children at the same time; ``delegate`` moves
the agent aside first, once, before any supervisor is started.
"""

from __future__ import annotations

import os

from ostler.executors import kernel, tree
from ostler.executors.errors import LimitUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ostler.executors.values import Limits, Usage

_PREFIX = "ostler-"
_LEAF = "ostler-agent"
_CONTROLLERS = ("memory", "cpu", "pids")
_PERIOD_MICROS = 100_000


class Hierarchy:
    """One mounted cgroup tree: where jobs go, what it controls, and where this process itself lives."""

    __slots__ = ("base", "controllers", "home", "version")

    def __init__(self, version: int, home: str, controllers: frozenset[str]) -> None:
        self.version: int = version
        self.home: str = home
        self.base: str = os.path.dirname(home) if os.path.basename(home) == _LEAF else home
        self.controllers: frozenset[str] = controllers


class Cgroups:
    """The hierarchies in which this process may make cgroups."""

    __slots__ = ("by_controller", "tracking")

    def __init__(self, hierarchies: list[Hierarchy]) -> None:
        usable = [one for one in hierarchies if os.access(one.base, os.W_OK)]
        for one in usable:
            if one.version == 2:
                one.controllers = _handed_down(one)
        self.by_controller: dict[str, Hierarchy] = {
            controller: one for one in usable for controller in _CONTROLLERS if controller in one.controllers
        }
        trackers = [one for one in usable if one.version == 2] or [one for one in usable if "pids" in one.controllers]
        self.tracking: Hierarchy | None = trackers[0] if trackers else None

    @property
    def kills(self) -> bool:
        """Whether the kernel kills a whole cgroup at once."""
        return self.tracking is not None and self.tracking.version == 2


def discover(process: str = "/proc/self") -> Cgroups:
    """Find what this host and this process's place in it allow."""
    places: dict[str, str] = {}
    for line in _text(f"{process}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            places[controller] = path
    return Cgroups(_mounted(_text(f"{process}/mountinfo"), places))


def delegate(process: str = "/proc/self") -> None:
    """Move this process into a leaf where version 2 demands it, so that its jobs' cgroups can have controllers.

    Only if whoever made the cgroup handed it over (systemd: ``Delegate=yes``): anywhere else it is not ours to arrange,
    and moving its processes would move somebody's terminal session. With ``DelegateSubgroup=ostler-agent`` the process
    is in the leaf from the start, which also leaves room for a restart while supervisors go on.
    """
    for one in _mounted(_text(f"{process}/mountinfo"), {"": _own_path(process)}):
        wanted = " ".join(f"+{name}" for name in _CONTROLLERS if name in one.controllers)
        if one.version != 2 or not wanted or not _handed_over(one.base):
            continue
        if one.home == one.base:
            leaf = os.path.join(one.home, _LEAF)
            for pid in _text(f"{one.home}/cgroup.procs").split() if _make(leaf) else ():
                _write(f"{leaf}/cgroup.procs", pid)
        _write(f"{one.base}/cgroup.subtree_control", wanted)


class JobCgroup:
    """The cgroup of one attempt, in as many hierarchies as it takes."""

    __slots__ = ("_birthplace", "_birthplace_door", "_doors", "_joined", "_tracking")

    def __init__(self, cgroups: Cgroups, attempt: str, limits: Limits) -> None:
        wanted = {"memory": limits.memory_bytes, "cpu": limits.cpu_millis, "pids": limits.pids}
        joined: dict[str, Hierarchy] = {}
        for controller, value in wanted.items():
            if value and controller not in cgroups.by_controller:
                raise LimitUnavailable(f"this host cannot limit {controller} for this agent")
            if value:
                joined[cgroups.by_controller[controller].base] = cgroups.by_controller[controller]
        if cgroups.tracking:
            joined[cgroups.tracking.base] = cgroups.tracking
        self._joined: dict[str, Hierarchy] = {
            os.path.join(base, _PREFIX + attempt): one for base, one in joined.items()
        }
        self._tracking: str = os.path.join(cgroups.tracking.base, _PREFIX + attempt) if cgroups.tracking else ""
        self._doors: list[int] = []
        self._birthplace: int = -1
        self._birthplace_door: int = -1
        try:
            self._create(limits)
        except OSError as reason:
            self.remove()
            raise LimitUnavailable(f"the job's cgroup was refused: {reason}") from reason

    @property
    def paths(self) -> list[str]:
        """Its directories, for whoever has to clean up after this process."""
        return list(self._joined)

    def fork(self) -> int:
        """Fork a child that is inside from its first instruction of its own; return what ``os.fork`` does."""
        pid, inside = kernel.fork_into(self._birthplace)
        if pid == 0:
            for door in self._doors:
                os.write(door, b"0")
            if not inside and self._birthplace_door >= 0:
                os.write(self._birthplace_door, b"0")
        return pid

    def processes(self) -> list[int]:
        """Return who is inside."""
        return [int(pid) for pid in _text(f"{self._tracking}/cgroup.procs").split()] if self._tracking else []

    def kill(self) -> None:
        """Kill everyone inside, forks in between included."""
        if self._tracking:
            kill_cgroup(self._tracking)

    def usage(self, usage: Usage) -> None:
        """Fill in what the controllers know."""
        for path, one in self._joined.items():
            if one.version == 2:
                usage.cpu_micros = _entry(f"{path}/cpu.stat", "usage_usec")
            if "memory" in one.controllers:
                peak = "memory.peak" if one.version == 2 else "memory.max_usage_in_bytes"
                kills = "memory.events" if one.version == 2 else "memory.oom_control"
                usage.memory_peak_bytes = int(_text(f"{path}/{peak}") or 0)
                usage.oom_kills = _entry(f"{path}/{kills}", "oom_kill")
            if "pids" in one.controllers:
                usage.pids_refused = _entry(f"{path}/pids.events", "max")

    def remove(self) -> None:
        """Give the directories back; those that still hold processes stay."""
        for descriptor in (*self._doors, self._birthplace, self._birthplace_door):
            if descriptor >= 0:
                os.close(descriptor)
        self._doors, self._birthplace, self._birthplace_door = [], -1, -1
        for path in self._joined:
            remove_cgroup(path)

    def _create(self, limits: Limits) -> None:
        for path, one in self._joined.items():
            os.makedirs(path, exist_ok=True)
            _limit(path, one, limits)
            door = os.open(f"{path}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
            if one.version == 2:
                self._birthplace = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                self._birthplace_door = door
            else:
                self._doors.append(door)


def kill_cgroup(path: str) -> None:
    """Kill everyone in the cgroup at this path, by the kernel's own means or by chasing them."""
    if not _write(f"{path}/cgroup.kill", "1"):
        _write(f"{path}/pids.max", "0")
        tree.kill_all(lambda: _living(path))


def end_cgroup(path: str) -> bool:
    """Kill everyone in the cgroup of somebody else's job, see them gone, and remove it; say whether that worked."""
    kill_cgroup(path)
    return tree.kill_all(lambda: _living(path)) and remove_cgroup(path)


def _living(path: str) -> list[int]:
    return [int(pid) for pid in _text(f"{path}/cgroup.procs").split() if not tree.dying(int(pid))]


def remove_cgroup(path: str) -> bool:
    """Remove a cgroup and those below it; say whether it is gone."""
    try:
        below = [entry.path for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
        for one in below:
            remove_cgroup(one)
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _limit(path: str, one: Hierarchy, limits: Limits) -> None:
    quota = limits.cpu_millis * _PERIOD_MICROS // 1000
    if limits.memory_bytes and "memory" in one.controllers:
        _demand(f"{path}/{'memory.max' if one.version == 2 else 'memory.limit_in_bytes'}", str(limits.memory_bytes))
        # Without this the job would swap instead of ending; hosts without swap accounting have no such file.
        swap = "memory.swap.max" if one.version == 2 else "memory.memsw.limit_in_bytes"
        _write(f"{path}/{swap}", "0" if one.version == 2 else str(limits.memory_bytes))
    if limits.pids and "pids" in one.controllers:
        _demand(f"{path}/pids.max", str(limits.pids))
    if quota and "cpu" in one.controllers:
        if one.version == 2:
            _demand(f"{path}/cpu.max", f"{quota} {_PERIOD_MICROS}")
        else:
            _demand(f"{path}/cpu.cfs_period_us", str(_PERIOD_MICROS))
            _demand(f"{path}/cpu.cfs_quota_us", str(quota))


def _mounted(mountinfo: str, places: dict[str, str]) -> list[Hierarchy]:
    """Match the mounted hierarchies with this process's path in each; see proc(5) for the columns."""
    found: list[Hierarchy] = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.partition(" ")
        if kind not in ("cgroup", "cgroup2"):
            continue
        root, mount = left.split()[3:5]
        names = options.split(" ")[-1].split(",")
        key = "" if kind == "cgroup2" else next((name for name in names if name in places), None)
        if key is None or key not in places:
            continue
        path = places[key]
        inside = path[len(root) :] if root != "/" and path.startswith(root) else path
        home = os.path.normpath(f"{mount}/{inside.lstrip('/')}")
        one = Hierarchy(2 if kind == "cgroup2" else 1, home, frozenset(names))
        if one.version == 2:
            one.controllers = frozenset(_text(f"{one.base}/cgroup.controllers").split())
        found.append(one)
    return found


def _handed_down(one: Hierarchy) -> frozenset[str]:
    """Ask that jobs' cgroups get controllers, and return those that they do get."""
    for controller in _CONTROLLERS:
        if controller in one.controllers:
            _write(f"{one.base}/cgroup.subtree_control", f"+{controller}")
    return frozenset(_text(f"{one.base}/cgroup.subtree_control").split())


def _handed_over(path: str) -> bool:
    """Whether systemd marked this cgroup as left to its processes; the mark of older versions only root can read."""
    for mark in ("user.delegate", "trusted.delegate") if hasattr(os, "getxattr") else ():
        try:
            if os.getxattr(path, mark) == b"1":
                return True
        except OSError:
            pass
    return False


def _own_path(process: str) -> str:
    lines = [line for line in _text(f"{process}/cgroup").splitlines() if line.startswith("0::")]
    return lines[0][3:] if lines else "/"


def _make(path: str) -> bool:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError:
        return False
    return os.access(path, os.W_OK)


def _demand(path: str, value: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _write(path: str, value: str) -> bool:
    try:
        _demand(path, value)
    except OSError:
        return False
    return True


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""


def _entry(path: str, name: str) -> int:
    for line in _text(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0
