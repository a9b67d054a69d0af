"""The circuit breaker: after several failed calls the server is left alone, then asked once, then trusted again.

A failure counts only after the call's own retries. The breaker remembers why it opened: if the server could not be
reached, any sign of life closes it, so a heartbeat ends the pause early; if the server answered with errors, only the
time and a successful probe do.
"""

import asyncio
from typing import Literal

from ostler.effects import Clock

State = Literal["closed", "open", "half_open"]


class Breaker:
    """One per server; used from one event loop."""

    def __init__(self, failures: int, timeout_seconds: float, clock: Clock) -> None:
        self._limit = failures
        self._timeout = timeout_seconds
        self._clock = clock
        self._failures = 0
        self._opened_at = 0.0
        self._unreachable = False
        self._turned = asyncio.Event()
        self.state: State = "closed"

    def admit(self) -> float:
        """Return 0 if a call may go out now, else for how long it may not.

        Whoever gets 0 promises to report with ``succeeded``, ``failed`` or ``dropped``: it may be the only probe.
        """
        if self.state == "closed":
            return 0.0
        left = self._opened_at + self._timeout - self._clock.monotonic()
        if self.state == "half_open":
            return max(left, 1.0)
        if left > 0:
            return left
        self.state = "half_open"
        self._opened_at = self._clock.monotonic()
        return 0.0

    def succeeded(self) -> None:
        """A call got a proper answer."""
        self._failures = 0
        if self.state != "closed":
            self.state = "closed"
            self._turned.set()

    def failed(self, *, unreachable: bool) -> None:
        """A call failed, all its retries included."""
        self._failures += 1
        self._unreachable = unreachable
        if self.state == "half_open" or (self.state == "closed" and self._failures >= self._limit):
            self.state = "open"
            self._opened_at = self._clock.monotonic()
            self._turned.clear()

    def dropped(self) -> None:
        """An admitted call was given up by its caller: nothing was learnt."""
        if self.state == "half_open":
            self.state = "open"
            self._opened_at -= self._timeout

    def alive(self) -> None:
        """The server answered something outside the guarded calls."""
        if self.state != "closed" and self._unreachable:
            self.succeeded()

    async def wait(self, seconds: float) -> None:
        """Wait for so long, or until the breaker closes."""
        try:
            async with asyncio.timeout(seconds):
                await self._turned.wait()
        except TimeoutError:
            pass
