"""The agent's end of a conversation with a supervisor: lines of JSON over a socket, on the agent's event loop.

The other end, and the messages, are described in ``ostler.agent.supervisor``.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import msgspec

_DECODER = msgspec.json.Decoder(dict[str, Any])


class SupervisorLink:
    """A connected socket. ``received`` is called with each message, ``ended`` once when the supervisor is gone."""

    def __init__(
        self,
        connected: socket.socket,
        received: Callable[[dict[str, Any]], None],
        ended: Callable[[], None],
    ) -> None:
        connected.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._socket = connected
        self._received = received
        self._ended = ended
        self._incoming = b""
        self._outgoing = b""
        self.open = True
        self._loop.add_reader(connected, self._read)

    def send(self, message: object) -> None:
        """Send in order; nothing happens once the supervisor is gone."""
        if self.open:
            self._outgoing += msgspec.json.encode(message) + b"\n"
            self._write()

    def close(self) -> None:
        """Hang up without calling ``ended``."""
        if self.open:
            self.open = False
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket.close()

    def _read(self) -> None:
        try:
            data = self._socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end()
            return
        *lines, self._incoming = (self._incoming + data).split(b"\n")
        for line in lines:
            self._received(_DECODER.decode(line))

    def _write(self) -> None:
        try:
            while self._outgoing:
                self._outgoing = self._outgoing[self._socket.send(self._outgoing) :]
        except BlockingIOError:
            self._loop.add_writer(self._socket, self._write)
            return
        except OSError:
            # The reader sees the end too, and after whatever was still said.
            self._outgoing = b""
        self._loop.remove_writer(self._socket)

    def _end(self) -> None:
        if self.open:
            self.close()
            self._ended()
