"""What one endpoint is: enough for the server to route it, the client to call it and the document to describe it."""

from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

import msgspec

Request = TypeVar("Request")
Reply = TypeVar("Reply")

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


class Auth(StrEnum):
    """Who may call."""

    NONE = "none"
    RUNNER = "runner"
    JOB = "job"
    """A job that is under way, by the token that came with its start grant."""
    USER = "user"
    OPERATOR = "operator"


class Nothing(msgspec.Struct, frozen=True):
    """The type of an empty body."""


class Binary(NamedTuple):
    """A body of raw bytes, with its media type."""

    data: bytes
    media_type: str = "application/octet-stream"


class Stream(NamedTuple):
    """A reply that is sent piece by piece; only its media type is known beforehand."""

    media_type: str


class NoQuery(msgspec.Struct, frozen=True):
    """The type of an empty query string."""


class Endpoint(msgspec.Struct, Generic[Request, Reply], frozen=True, kw_only=True):
    """One row of the table.

    ``request`` and ``reply`` are message types; ``Nothing`` is an empty body, ``Binary`` raw bytes, and ``stream``
    names the media type of a reply that has no message. ``streamed`` says that the raw bytes of the request are taken
    piece by piece, however many they are. ``retryable`` says that a second delivery of the same request
    changes nothing more than the first (it is a read, or it carries an idempotency key or a fence).
    """

    name: str
    method: str
    path: str
    summary: str
    request: type[Request]
    reply: type[Reply]
    query: type[msgspec.Struct] = NoQuery
    auth: Auth = Auth.USER
    status: int = 200
    retryable: bool = True
    held: bool = False
    stream: str | None = None
    streamed: bool = False
    body_limit: int = 1 * MIB
    problems: tuple[str, ...] = ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names in the path's braces, in order."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    def filled(self, **values: str) -> str:
        """Return the path with its parameters filled in; they must be plain path segments."""
        path = self.path
        for name in self.parameters:
            path = path.replace("{" + name + "}", _segment(values[name]))
        return path


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~")


def _segment(value: str) -> str:
    return "".join(character if character in _PLAIN else _percent(character) for character in value)


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())
