"""What a client proves its right with. How tokens are obtained and renewed is the business of whoever implements it."""

from typing import Protocol

from ostler.protocol.problem import Problem


class Credentials(Protocol):
    """Used by concurrent calls: a renewal in flight must serve all of them."""

    async def token(self) -> str:
        """Return the token for the next call; empty if there is none."""
        ...

    async def refused(self, token: str, problem: Problem) -> bool:
        """Learn that the server refused a token; return whether another attempt with a new one is worth it."""
        ...


class FixedToken:
    """A token that cannot be renewed, such as a person's API token; empty for anonymous calls."""

    def __init__(self, token: str = "") -> None:
        self._token = token

    async def token(self) -> str:
        return self._token

    async def refused(self, token: str, problem: Problem) -> bool:
        return False
