"""How secrets enter and leave the database: sealed with a key that the database never sees (threat 38)."""

from typing import Protocol


class Sealer(Protocol):
    """Authenticated encryption. ``associated`` ties a sealed value to its row, so swapped rows do not open."""

    def seal(self, plaintext: bytes, associated: bytes) -> bytes:
        """Return the sealed form."""
        ...

    def open(self, sealed: bytes, associated: bytes) -> bytes:
        """Return the plaintext, or raise if either argument is not what it was."""
        ...
