"""Starting the process of a supervisor, which can be done long before anybody is ready to talk to it.

Nothing else is imported here: whoever is in a hurry starts one first, and loads all the rest while it gets ready.
"""

import os
import socket
import sys
from typing import Final, NamedTuple

PLAIN: Final = "ostler.agent.supervisor"
WORKFLOW: Final = "ostler.agent.workflow_supervisor"
"""The programs that supervise jobs: of commands, and of workflows."""
_HANDOVER: Final = 3
_APPEND: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class Started(NamedTuple):
    """A supervisor that waits for a job; it ends when the socket is closed."""

    pid: int
    connected: socket.socket
    kind: str


def start(root: str, kind: str) -> Started:
    """Start a supervisor for the attempts below a folder, which exists."""
    ours, theirs = socket.socketpair()
    with theirs:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-E", "-s", "-P", "-m", kind, str(_HANDOVER)],
            {"PATH": os.defpath},
            file_actions=(
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, f"{root}/supervisors.log", _APPEND, 0o600),
                (os.POSIX_SPAWN_DUP2, theirs.fileno(), _HANDOVER),
            ),
        )
    return Started(pid, ours, kind)
