"""Drawing random numbers, for secrets as for jitter.

Programs always get the kernel's generator, so nobody has to judge whether a draw must be
unpredictable. Only the simulation passes a seeded source, to repeat a run exactly.
"""

import random
from binascii import b2a_base64
from collections.abc import MutableSequence, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Random(Protocol):
    """Draws random values; the system's draws are fit for secrets."""

    def uniform(self, low: float, high: float) -> float:
        """A number between both bounds."""
        ...

    def randbytes(self, size: int) -> bytes:
        """Exactly `size` random bytes."""
        ...

    def token(self, size: int = 32) -> str:
        """`size` random bytes as URL-safe text without padding."""
        ...

    def below(self, limit: int) -> int:
        """An integer of at least 0 and less than `limit`."""
        ...

    def choice(self, options: Sequence[T]) -> T:
        """One of the options, each as likely."""
        ...

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Puts the items in random order, in place."""
        ...


class SourceRandom:
    """Draws from one source of the standard library: the kernel's or a seeded one."""

    __slots__ = ("_source",)

    def __init__(self, source: random.Random) -> None:
        self._source = source

    def uniform(self, low: float, high: float) -> float:
        return self._source.uniform(low, high)

    def randbytes(self, size: int) -> bytes:
        return self._source.randbytes(size)

    def token(self, size: int = 32) -> str:
        encoded = b2a_base64(self._source.randbytes(size), newline=False)
        return encoded.translate(_URL_SAFE, b"=").decode("ascii")

    def below(self, limit: int) -> int:
        return self._source.randrange(limit)

    def choice(self, options: Sequence[T]) -> T:
        return self._source.choice(options)

    def shuffle(self, items: MutableSequence[T]) -> None:
        self._source.shuffle(items)


_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def system_random() -> SourceRandom:
    """Draws from the kernel."""
    return SourceRandom(random.SystemRandom())


def seeded_random(seed: int | str) -> SourceRandom:
    """Draws that repeat themselves; for simulation only, never for secrets."""
    return SourceRandom(random.Random(seed))  # noqa: S311 - to be repeated is the purpose
