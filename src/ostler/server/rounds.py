"""What one transaction of the dispatcher decides: everything that was asked for while the one before was under way."""

import asyncio
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.protocol.v1.runner_messages import Directive, EventsRequest, FinishRequest, LeaseRef
from ostler.server.held_polls import Asked
from ostler.store import attempts, claims, events, logs
from ostler.store.attempts import Finish, Finished, LogIncomplete, Start, Started
from ostler.store.claims import Claimed, Want
from ostler.store.logs import Chunk

Settled = Finished | LogIncomplete | Refused
Granted = Started | Refused

Wanted = TypeVar("Wanted")
Outcome = TypeVar("Outcome")


class Request(NamedTuple, Generic[Wanted, Outcome]):
    """Something to be decided by the next transaction, and who waits for it."""

    wanted: Wanted
    future: "asyncio.Future[Outcome]"

    def answer(self, outcome: Outcome | Exception) -> None:
        """Hand the outcome to whoever still waits for it."""
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
            self.future.exception()  # whoever asked may be gone; that is no error of ours
        else:
            self.future.set_result(outcome)


class Renewal(NamedTuple):
    """Leases that a runner names with its poll."""

    runner_id: str
    leases: Sequence[LeaseRef]


class HandedIn(NamedTuple):
    """A result, and the last of the log with the number of lines up to its end, if the result carried it."""

    runner_id: str
    request: FinishRequest
    chunk: Chunk | None = None
    lines: int = 0


class Wishes(NamedTuple):
    """What one transaction is to decide."""

    starts: Sequence[Start] = ()
    finishes: Sequence[HandedIn] = ()
    renewals: Sequence[Renewal] = ()
    wants: Sequence[Want] = ()


class Round(NamedTuple):
    """What it decided."""

    granted: Sequence[Granted | Exception] = ()
    settled: Sequence[Settled | Exception] = ()
    renewed: Sequence[list[Directive] | Exception] = ()
    claimed: Sequence[Claimed | None] = ()


class Gathered:
    """The requests that wait for the next transaction."""

    def __init__(self) -> None:
        self.starts: list[Request[Start, Granted]] = []
        self.finishes: list[Request[HandedIn, Settled]] = []
        self.renewals: list[Request[Renewal, list[Directive]]] = []
        self.dirty: set[str] = set()

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return bool(self.starts or self.finishes or self.renewals or self.dirty)

    def wishes(self, asked: Sequence[Asked]) -> Wishes:
        """Return all of it, with the polls that are to be served."""
        return Wishes(
            [request.wanted for request in self.starts],
            [request.wanted for request in self.finishes],
            [request.wanted for request in self.renewals],
            [each.want for each in asked],
        )

    def answer(self, outcome: Round) -> None:
        """Hand everyone their part."""
        for request, granted in zip(self.starts, outcome.granted, strict=True):
            request.answer(granted)
        for request, settled in zip(self.finishes, outcome.settled, strict=True):
            request.answer(settled)
        for request, renewed in zip(self.renewals, outcome.renewed, strict=True):
            request.answer(renewed)

    def fail(self, error: Exception) -> None:
        """Tell everyone that nothing was decided."""
        for request in (*self.starts, *self.finishes, *self.renewals):
            request.answer(error)


def decide(connection: Connection, wishes: Wishes, now: int) -> Round:
    """Decide: first what ends and frees slots, then who gets the next job."""
    return Round(
        attempts.start_many(connection, wishes.starts, now) if wishes.starts else (),
        _finish(connection, wishes.finishes, now) if wishes.finishes else (),
        [attempts.renew(connection, each.runner_id, each.leases, now) for each in wishes.renewals],
        claims.claim_batch(connection, wishes.wants, now) if wishes.wants else (),
    )


def _finish(connection: Connection, handed_in: Sequence[HandedIn], now: int) -> Sequence[Settled]:
    """Store what results carried, then take them. What cannot be stored is missed by the result itself."""
    for runner_id, request, chunk, lines in handed_in:
        if chunk is not None:
            logs.append(connection, runner_id, request.job_id, request.fence, chunk, lines, now)
        if request.events:
            reports = EventsRequest(request.job_id, request.fence, request.events)
            events.record(connection, runner_id, reports, now)
    return attempts.finish_many(connection, [Finish(each.runner_id, each.request) for each in handed_in], now)
