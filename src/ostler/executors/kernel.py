"""The few Linux calls that Python does not offer, and their absence elsewhere stated as a value.

Why ctypes: the alternatives are an extension module to build, or a dependency for two integers.
"""

from __future__ import annotations

import ctypes
import sys

_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> bool:
    """Let orphans below this process become its children, so that none of them is lost. Say whether it worked."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def forbid_dumps() -> bool:
    """Keep this process's memory from cores, and from ptrace and /proc/PID/mem of its user's other processes."""
    return _prctl(_PR_SET_DUMPABLE, 0)


def _prctl(option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0
