"""Results wait here until the server has acknowledged them; the journal keeps them over a restart.

A result may only be acknowledged after the whole log, so a server that lacks some of it names the offset and gets the
rest first. The message carries what is left of log and events if that is little, and may carry the next poll: then
all that ends a short job, and the claim of the next, are one request and one commit.
"""

from typing import Protocol

import msgspec

from ostler.agent.delivery import Delivery
from ostler.agent.journal import Entry
from ostler.agent.shipping import EventShipper, LogShipper
from ostler.client.errors import ProblemError
from ostler.protocol.v1 import table
from ostler.protocol.v1.runner_messages import ClaimReply, ClaimRequest, FinishRequest, StartRequest

_MOST_CORRECTIONS = 10


class Follower(Protocol):
    """Whoever can use the slot that a finished job leaves."""

    def next_poll(self, finished: Entry) -> ClaimRequest | None:
        """Return the poll to carry, if more work is wanted."""
        ...

    def take(self, poll: ClaimRequest, reply: ClaimReply) -> None:
        """Begin what the server gave."""
        ...

    def settle(self, finished: Entry) -> None:
        """The slot that was offered with the result is free again, or taken by what was given for it."""
        ...


class Outbox:
    """Delivers results."""

    def __init__(self, delivery: Delivery, follower: Follower) -> None:
        self._delivery = delivery
        self._follower = follower
        self._waiting: set[tuple[str, int]] = set()

    def __len__(self) -> int:
        """Return how many results are not acknowledged."""
        return len(self._waiting)

    async def deliver(self, entry: Entry, logs: LogShipper | None, events: EventShipper | None) -> None:
        """Return once the result is acknowledged; raise ``ProblemError`` if the attempt is none of ours any more."""
        if entry.result is None:
            raise ValueError("an attempt without a result has nothing to deliver")
        poll = self._follower.next_poll(entry)
        request = msgspec.structs.replace(
            entry.result,
            next=poll,
            events=events.rest() if events else [],
            log=logs.rest() if logs else b"",
            log_offset=logs.offset if logs else 0,
        )
        self._waiting.add((entry.job_id, entry.fence))
        corrections = 0
        try:
            while True:
                try:
                    reply = await self._delivery.call(table.FINISH, request=request)
                    break
                except ProblemError as error:
                    corrections += 1
                    if corrections > _MOST_CORRECTIONS:
                        raise
                    request = await self._corrected(entry, request, logs, error)
            if poll is not None and reply.next is not None:
                self._follower.take(poll, reply.next)
        finally:
            self._waiting.discard((entry.job_id, entry.fence))
            self._follower.settle(entry)

    async def _corrected(
        self, entry: Entry, request: FinishRequest, logs: LogShipper | None, error: ProblemError
    ) -> FinishRequest:
        if error.code == "job_not_granted":
            await self._delivery.call(table.START, request=StartRequest(entry.job_id, entry.fence, entry.start_key))
            return request
        if error.code != "log_incomplete" or error.problem.expected is None:
            raise error
        if logs is None or error.problem.expected > logs.offset:
            # The spool is gone with a lost disk: what the server has is all that there will ever be.
            return msgspec.structs.replace(request, log_bytes=error.problem.expected, log=b"")
        await logs.ship_from(error.problem.expected)
        return msgspec.structs.replace(request, log_bytes=min(request.log_bytes, logs.offset), log=b"")
