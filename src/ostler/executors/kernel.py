"""The few Linux calls that Python does not offer, and their absence elsewhere stated as a value.

Why ctypes: the alternatives are an extension module to build, or a dependency for two integers.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_SYS_CLONE3 = 435  # the same on every architecture
_CLONE_VFORK = 0x4000
_CLONE_INTO_CGROUP = 0x2_0000_0000
_CLONE_ARGUMENTS = struct.Struct("=11Q")
_SIGCHLD = 17
_LIBC = ctypes.PyDLL(None)
"""Made once: each time costs more than the call."""


def become_subreaper() -> bool:
    """Let orphans below this process become its children, so that none of them is lost. Say whether it worked."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def forbid_dumps() -> bool:
    """Keep this process's memory from cores, and from ptrace and /proc/PID/mem of its user's other processes."""
    return _prctl(_PR_SET_DUMPABLE, 0)


def fork_into(cgroup: int) -> tuple[int, bool]:
    """Fork a child that is born in a version 2 cgroup; return what ``os.fork`` does, and whether it is in there.

    Moving a process between cgroups waits for an RCU grace period, 5 to 40 ms on a busy host; being born in one costs
    nothing. Old kernels and some sandboxes refuse: then this is a plain fork, and the child has to move. The parent
    sleeps until the child executes something or ends, so the child must do just that, and only by plain calls.
    """
    if sys.platform == "linux" and cgroup >= 0:
        arguments = _CLONE_ARGUMENTS.pack(_CLONE_VFORK | _CLONE_INTO_CGROUP, 0, 0, 0, _SIGCHLD, 0, 0, 0, 0, 0, cgroup)
        pid = _LIBC.syscall(_SYS_CLONE3, arguments, len(arguments))
        if pid >= 0:
            return pid, True
    return os.fork(), False


def enter_namespace(descriptor: int, kind: int) -> None:
    """Move this process into a namespace of a kind; only a process with one thread can do it."""
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, kind) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def renounce(capability: int) -> None:
    """Keep a capability from whatever this process executes next, root included."""
    if not _prctl(_PR_CAPBSET_DROP, capability):
        raise PermissionError(1, f"capability {capability} could not be given up")


def _prctl(option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0
