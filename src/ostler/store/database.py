"""The one seam between asynchronous programs and the store's plain functions.

``await db.run(claims.claim_batch, wants, now)`` runs a function over a connection inside one transaction. Functions
never commit, never keep the connection and may be run again if the first try was undone, so whatever they decide by
chance or by time comes in as an argument. Hints shorten waits and may be lost; nothing may depend on them.
"""

from collections.abc import Callable
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection

T = TypeVar("T")
P = ParamSpec("P")

_HINTS: Final = "ostler_hints"


class Database(Protocol):
    """See the module. Every method is safe for concurrent use by tasks of one event loop."""

    async def run(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in a write transaction; on return it is durable.

        Raises what the function raises (then nothing was written), `DatabaseUnavailable` if surely nothing was
        written, `DatabaseUncertain` if that is unknown.
        """
        ...

    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function that only reads; it sees everything that was committed before."""
        ...

    def hint(self, topic: str) -> None:
        """Tell the listeners of every replica that the topic changed, without a transaction."""
        ...

    def listen(self, callback: Callable[[str], None]) -> None:
        """Call back, on the event loop, with each hinted topic: this process's at once, other replicas' soon.

        The topic ``*`` says that hints may have been missed, so everything should be looked at again.
        """
        ...

    async def check(self) -> None:
        """Return if the database takes writes now, else raise."""
        ...

    async def close(self) -> None:
        """Finish what is under way and disconnect."""
        ...


def begin_hints(connection: Connection) -> list[str]:
    """Start collecting the hints of a transaction; what is collected is sent only after its commit."""
    hints: list[str] = []
    connection.info[_HINTS] = hints
    return hints


def hint(connection: Connection, topic: str) -> None:
    """From inside a transaction: once it is committed, tell listeners that the topic changed."""
    hints: list[str] | None = connection.info.get(_HINTS)
    if hints is not None:
        hints.append(topic)
