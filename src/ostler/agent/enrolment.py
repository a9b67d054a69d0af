"""When to enrol: at the first start, and again by itself when the server no longer accepts the runner (F3).

A server that is away is waited for. A token that is refused at the first start ends the agent, because only a person
can help; later, the configured token is read again until it is a new one, because rotating it in place is how people
repair a fleet.
"""

import asyncio

from ostler.agent.delivery import transient
from ostler.agent.errors import EnrolmentRefused
from ostler.agent.identity import RunnerIdentity
from ostler.agent.logging import Log
from ostler.client.errors import CircuitOpen, ProblemError, ReplyMalformed
from ostler.client.transport import TransportError
from ostler.effects import Random
from ostler.protocol.problem import Problem

_REREAD_SECONDS = 15.0
_LONGEST_WAIT_SECONDS = 15.0


class Enrolment:
    """One per runner."""

    def __init__(self, identity: RunnerIdentity, random: Random, log: Log, *, single_run: bool) -> None:
        self._identity = identity
        self._random = random
        self._log = log
        self._single_run = single_run

    async def first(self) -> None:
        """Be who we were, or become someone."""
        try:
            await self._enrol(afresh=False)
        except ProblemError as error:
            raise EnrolmentRefused(_said(error.problem), fix=error.problem.fix) from error

    async def again(self, refusal: Problem) -> None:
        """Become someone new, as soon as there is a token that allows it."""
        self._log.error("identity_refused", code=refusal.code, reason=refusal.detail or refusal.title)
        while True:
            if self._identity.may_return(refusal):
                try:
                    await self._enrol(afresh=True)
                except ProblemError as error:
                    refusal = error.problem
                    self._log.error("enrolment_refused", code=refusal.code, reason=refusal.detail or refusal.title)
                else:
                    return
            if self._single_run:
                raise EnrolmentRefused(_said(refusal), fix=refusal.fix)
            await asyncio.sleep(self._random.uniform(0.5, 1.0) * _REREAD_SECONDS)

    async def _enrol(self, *, afresh: bool) -> None:
        failures = 0
        while True:
            failures += 1
            try:
                await self._identity.enrol(afresh=afresh)
            except ProblemError as error:
                if not transient(error) or error.problem.status == 401:
                    raise
                reason = str(error)
            except (TransportError, ReplyMalformed, CircuitOpen) as error:
                reason = str(error)
            else:
                return
            self._log.warning("enrolment_delayed", reason=reason)
            longest = min(_LONGEST_WAIT_SECONDS, 0.25 * 2 ** min(failures, 10))
            await asyncio.sleep(self._random.uniform(0, longest))


def _said(refusal: Problem) -> str:
    """Return title and detail, or one of them where they say the same."""
    if refusal.detail.casefold() in ("", refusal.title.casefold()):
        return refusal.title
    return f"{refusal.title}: {refusal.detail}"
