"""A job's own network, with nothing in it but a loopback: made before its first step, shared by all of its steps.

``loopback`` makes it, in a process of its own. Here it is held open and entered. A job that runs as the host's root
is also refused the capabilities by which it could walk out again; an ordinary user has none to begin with.

What this does not cut: sockets in the file system. Whoever may connect to a daemon of the host by its path, Docker's
above all, still reaches whatever that daemon does.
"""

from __future__ import annotations

import os
import socket
import sys

from ostler.executors import kernel, loopback
from ostler.executors.errors import NetworkUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

FULL: Final = "full"
NONE: Final = "none"

_HANDOVER = 3
_SENTENCE = 500
# Leading out of a network namespace: moving interfaces, loading code into the kernel, raw memory, other processes,
# and entering a namespace of the host.
_NET_ADMIN, _SYS_MODULE, _SYS_RAWIO, _SYS_PTRACE, _SYS_ADMIN = 12, 16, 17, 19, 21
_WAYS_OUT = (_NET_ADMIN, _SYS_MODULE, _SYS_RAWIO, _SYS_PTRACE, _SYS_ADMIN)


class Loopback:
    """A network namespace, and the user namespace around it where one was needed."""

    __slots__ = ("_net", "_user")

    def __init__(self) -> None:
        """Make it; raise ``NetworkUnavailable`` where this host does not let us."""
        if sys.platform != "linux":
            raise NetworkUnavailable("only Linux can keep a job from the network")
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                pid = _make(theirs)
            sentence, descriptors, _, _ = socket.recv_fds(ours, _SENTENCE, 2, socket.MSG_CMSG_CLOEXEC)
        os.waitpid(pid, 0)
        if not descriptors:
            reason = sentence.decode("utf-8", "replace") or "its maker ended without a word"
            raise NetworkUnavailable(f"this host cannot keep a job from the network: {reason}")
        self._net: int = descriptors[0]
        self._user: int = descriptors[1] if len(descriptors) > 1 else -1

    def enter(self) -> None:
        """Move this process in, for good. Called in a fork that is about to become a command."""
        if self._user >= 0:
            kernel.enter_namespace(self._user, loopback.CLONE_NEWUSER)
        kernel.enter_namespace(self._net, loopback.CLONE_NEWNET)
        if self._user < 0:
            for capability in _WAYS_OUT:
                kernel.renounce(capability)

    def close(self) -> None:
        """Let go; it ends with the last process inside."""
        for descriptor in (self._net, self._user):
            if descriptor >= 0:
                os.close(descriptor)


def _make(handover: socket.socket) -> int:
    try:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", loopback.__file__, str(_HANDOVER)],
            {},
            file_actions=((os.POSIX_SPAWN_DUP2, handover.fileno(), _HANDOVER),),
        )
    except OSError as reason:
        raise NetworkUnavailable(f"{sys.executable} could not be started: {reason}") from reason


def fault() -> str:
    """Say why this host cannot keep a job from the network; nothing if it can. Found out by doing it."""
    try:
        Loopback().close()
    except NetworkUnavailable as reason:
        return str(reason)
    return ""
