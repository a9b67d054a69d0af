"""Loopback ports for parts that must keep theirs across a crash and a restart.

The kernel hands out ephemeral ports from 32768 up, to servers that bind port 0 and to every outgoing connection alike.
A part that is killed and started again would find such a port taken; so ports come from below that range.
"""

import itertools
import os
import socket

LOOPBACK = "127.0.0.1"

_LOWEST = 12_000
_COUNT = 20_000
_steps = itertools.count()


def free_port() -> int:
    """A port on loopback that nothing listens on; workers of a parallel test run start their search far apart."""
    start = os.getpid() * 97
    for step in itertools.islice(_steps, _COUNT):
        port = _LOWEST + (start + step) % _COUNT
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return port
    raise OSError("no free loopback port")
