"""A program that makes a network without an outside: a namespace with a loopback that works, handed to whoever asked.

``python -I -S loopback.py FD``: FD is one end of a socket pair; over it go descriptors of the new namespaces, or one
sentence that says why there are none. They live as long as somebody holds them or runs inside.

Why a program of its own: without privileges a network namespace needs a user namespace, whose maps only a process
that may be traced can write. The supervisor, whose memory holds secrets, never becomes one; nor can it leave a user
namespace again. It imports nothing of ours, because ``-S`` halves the time that it takes.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys

CLONE_NEWUSER, CLONE_NEWNET = 0x1000_0000, 0x4000_0000
_GET_FLAGS, _SET_FLAGS = 0x8913, 0x8914
_UP = 0x1
_REQUEST = struct.Struct("16sh14x")


def main(asker: socket.socket) -> None:
    """Make the namespaces and hand them over."""
    try:
        kinds = ("net",) if _separated() else ("net", "user")
        _raise_loopback()
        made = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds]
    except OSError as reason:
        asker.sendall(f"the kernel refused: {reason}".encode())
    else:
        socket.send_fds(asker, [b"made"], made)


def _separated() -> bool:
    """Leave the host's network; say whether that needed no user namespace."""
    user, group = os.geteuid(), os.getegid()
    try:
        _unshare(CLONE_NEWNET)
    except PermissionError:
        _unshare(CLONE_NEWUSER | CLONE_NEWNET)
    else:
        return True
    # As itself and nobody else; the kernel wants groups to be frozen before an ordinary user maps one.
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    return False


def _unshare(flags: int) -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _raise_loopback() -> None:
    """Bring ``lo`` up; the kernel gives it 127.0.0.1 and ::1 by itself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name, flags = _REQUEST.unpack(fcntl.ioctl(any_socket, _GET_FLAGS, _REQUEST.pack(b"lo", 0)))
        fcntl.ioctl(any_socket, _SET_FLAGS, _REQUEST.pack(name, flags | _UP))


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
