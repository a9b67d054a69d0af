"""Delivering what must arrive: a message is repeated until the server has answered it, however long that takes.

Everything sent this way carries a key, a fence or an offset, so a repetition changes nothing. Refusals are answers and
go to the caller; a server that is away, overloaded or broken is waited for.
"""

import asyncio
from typing import TypeVar

import msgspec

from ostler.agent.logging import Log
from ostler.client.caller import Client
from ostler.client.errors import CircuitOpen, ProblemError, ReplyMalformed
from ostler.client.transport import TransportError
from ostler.effects import Random
from ostler.protocol.endpoint import Endpoint

Request = TypeVar("Request")
Reply = TypeVar("Reply")

_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 15.0

GONE = frozenset({"stale_fence", "job_ended", "not_found"})
"""The server's ways to say that an attempt is none of this runner's business any more."""

LOST = frozenset({"runner_revoked", "assertion_refused"})
"""The server's ways to say that this runner's identity is no longer accepted.

Only a revocation ends jobs: a refused assertion may be mended by a new enrolment, and jobs wait for that.
"""


class Delivery:
    """Repeats calls of one client."""

    def __init__(self, client: Client, random: Random, log: Log) -> None:
        self._client = client
        self._random = random
        self._log = log

    async def call(
        self,
        endpoint: Endpoint[Request, Reply],
        *,
        request: Request | None = None,
        query: msgspec.Struct | None = None,
        **path: str,
    ) -> Reply:
        """Return the reply or raise the ``ProblemError`` of a refusal."""
        failures = 0
        while True:
            try:
                return await self._client.call(
                    endpoint, request=request, query=query, deadline_seconds=None, probe=False, reconnect=True, **path
                )
            except CircuitOpen as pause:
                await self._client.breaker.wait(pause.wait_seconds)
                continue
            except ProblemError as error:
                if not transient(error):
                    raise
                reason = str(error)
            except (TransportError, ReplyMalformed) as error:
                reason = str(error)
            failures += 1
            wait = min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2 ** min(failures - 1, 10))
            self._log.warning("delivery_delayed", call=endpoint.name, reason=reason, failures=failures)
            await asyncio.sleep(self._random.uniform(0, wait))


def transient(error: ProblemError) -> bool:
    """Return whether the same call may succeed later without anything being changed."""
    return error.problem.status >= 500 or error.problem.status in {401, 408, 429}
