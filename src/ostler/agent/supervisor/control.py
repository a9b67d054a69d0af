"""All agents that talk to this supervisor: the one that started it, and any that came later through the socket.

The socket ``control`` appears in the job's directory when the agent that started the supervisor is gone; a restarted
agent connects to it and subscribes. Nothing here ever waits for an agent.
"""

from __future__ import annotations

import os
import select
import socket

from ostler.agent.supervisor.channel import Channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ostler.agent.supervisor.directory import Directory


class Agents:
    """The hand-over channel, the listening socket and those who connected to it."""

    __slots__ = ("_channels", "_directory", "_handover", "_listener", "_poller")

    def __init__(self, handover: Channel, directory: Directory, poller: select.poll) -> None:
        self._poller: select.poll = poller
        self._handover: Channel = handover
        self._directory: Directory = directory
        self._listener: socket.socket | None = None
        self._channels: dict[int, Channel] = {}
        self._add(handover)

    def handle(self, descriptor: int) -> list[dict[str, Any]]:
        """Take what a descriptor has; return the messages that concern the job."""
        if self._listener and descriptor == self._listener.fileno():
            self._accept(self._listener)
            return []
        channel = self._channels.get(descriptor)
        if channel is None:
            return []
        channel.flush()
        messages = channel.receive()
        for message in messages:
            if message.get("do") == "ping":
                channel.send({"pong": True})
            elif message.get("do") == "subscribe":
                channel.subscribed = True
        self._settle(descriptor, channel)
        return messages

    def notify(self, log: int, events: int) -> None:
        """Tell everyone who subscribed how far log and events are."""
        for descriptor, channel in list(self._channels.items()):
            channel.notify(log, events)
            self._settle(descriptor, channel)

    def close(self, last_words: dict[str, Any]) -> None:
        """Tell everyone that it is over, and hang up on those who came through the socket.

        Whoever is too slow to be told sees the end of the conversation, and then the result on disk.
        """
        for channel in self._channels.values():
            if channel.subscribed:
                channel.send(last_words)
            if channel is not self._handover:
                channel.close()
        if self._listener:
            self._listener.close()
        self._channels = {}

    def _accept(self, listener: socket.socket) -> None:
        try:
            connected, _ = listener.accept()
        except OSError:
            return
        self._add(Channel(connected, subscribed=False))

    def _add(self, channel: Channel) -> None:
        if not channel.closed:
            self._channels[channel.fileno()] = channel
            self._poller.register(channel.fileno(), channel.interest)

    def _settle(self, descriptor: int, channel: Channel) -> None:
        if channel.closed:
            self._poller.unregister(descriptor)
            del self._channels[descriptor]
            if self._listener is None:
                self._listener = _listen(self._directory)
                self._poller.register(self._listener.fileno(), select.POLLIN)
        else:
            self._poller.modify(descriptor, channel.interest)


def _listen(directory: Directory) -> socket.socket:
    """Bind by a relative name: a socket's address holds about a hundred bytes, and data directories can be deep."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    os.fchdir(directory.descriptor)
    try:
        listener.bind("control")
    finally:
        os.chdir("/")
        os.umask(mask)
    listener.listen(4)
    listener.setblocking(False)
    return listener
