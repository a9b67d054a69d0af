"""One end of a conversation with an agent: JSON objects, a line each, over a socket that may vanish at any time.

A notification says how far log and events have come, so only the newest matters: one that could not be sent is
replaced, and a stuck reader costs a few bytes instead of a queue.
"""

from __future__ import annotations

import json
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket
    from typing import Any

_LONGEST_LINE = 64 << 20


class Channel:
    """One connected socket, never waited for."""

    __slots__ = ("_incoming", "_outgoing", "_socket", "closed", "events_sent", "log_sent", "subscribed")

    def __init__(self, connected: socket, *, subscribed: bool) -> None:
        connected.setblocking(False)
        self._socket: socket = connected
        self._incoming: bytearray = bytearray()
        self._outgoing: bytes = b""
        self.subscribed: bool = subscribed
        self.closed: bool = False
        self.log_sent: int = 0
        self.events_sent: int = 0

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def interest(self) -> int:
        """What to poll for."""
        return select.POLLIN | (select.POLLOUT if self._outgoing else 0)

    def receive(self) -> list[dict[str, Any]]:
        """Return the whole messages that have arrived; notice when the other end is gone."""
        try:
            data = self._socket.recv(1 << 18)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data or len(self._incoming) > _LONGEST_LINE:
            self.close()
            return []
        self._incoming += data
        if not data.endswith(b"\n") and b"\n" not in data:
            return []
        *lines, rest = bytes(self._incoming).split(b"\n")
        self._incoming = bytearray(rest)
        return [json.loads(line) for line in lines if line]

    def send(self, message: dict[str, Any]) -> None:
        """Send, or keep what did not fit until ``flush``."""
        self._outgoing += json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self.flush()

    def flush(self) -> None:
        """Send what is left."""
        try:
            while self._outgoing:
                self._outgoing = self._outgoing[self._socket.send(self._outgoing) :]
        except BlockingIOError:
            return
        except OSError:
            self.close()

    def notify(self, log: int, events: int) -> None:
        """Tell a subscriber how far log and events are, unless it knows or is still busy with the last time."""
        if self.subscribed and not self._outgoing and (log, events) != (self.log_sent, self.events_sent):
            self.log_sent, self.events_sent = log, events
            self.send({"log": log, "event": events})

    def forget_progress(self) -> None:
        """Begin with a new job."""
        self.log_sent = self.events_sent = 0

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._outgoing = b""
            self._socket.close()
