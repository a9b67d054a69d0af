"""One call of an endpoint, as the use cases see it: already decoded, authenticated and within its limits."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final, Generic, NamedTuple, TypeVar

from ostler.domain.ids import RunnerId, UserId
from ostler.domain.machine import Refused
from ostler.protocol.endpoint import Endpoint
from ostler.protocol.problem import PROBLEMS, Problem, problem
from ostler.store.job_scopes import JobScope

Request = TypeVar("Request")
T = TypeVar("T")


class Nobody(NamedTuple):
    """A caller without credentials."""


class RunnerCaller(NamedTuple):
    """A runner, proven by an access token."""

    runner_id: RunnerId


class JobCaller(NamedTuple):
    """A job that is under way, proven by its token."""

    scope: JobScope


class UserCaller(NamedTuple):
    """A person or their API token."""

    user_id: UserId
    name: str
    role: str


Caller = Nobody | RunnerCaller | JobCaller | UserCaller


class Call(NamedTuple, Generic[Request]):
    """Everything a handler gets."""

    body: Request
    caller: Caller
    path: Mapping[str, str]
    query: Any
    headers: Mapping[str, str]
    request_id: str
    left: "asyncio.Future[None] | None" = None
    """Of a held call: done once the caller has hung up. What it waits for must then go to somebody else."""

    @property
    def runner(self) -> RunnerCaller:
        """The calling runner; the router lets nobody else through to a runner's endpoint."""
        if not isinstance(self.caller, RunnerCaller):
            raise Refusal(problem("forbidden", "only a runner may call this"))
        return self.caller

    @property
    def job(self) -> JobScope:
        """The calling job."""
        if not isinstance(self.caller, JobCaller):
            raise Refusal(problem("forbidden", "only a job may call this"))
        return self.caller.scope

    @property
    def user(self) -> UserCaller:
        """The calling person."""
        if not isinstance(self.caller, UserCaller):
            raise Refusal(problem("forbidden", "only a person may call this"))
        return self.caller


CURRENT: Final[ContextVar[Call[Any]]] = ContextVar("call")
"""The call that the present task serves, so that what is logged meanwhile can name it."""


class Streaming(NamedTuple):
    """A reply sent piece by piece."""

    media_type: str
    chunks: AsyncGenerator[bytes]
    headers: Mapping[str, str] = {}
    status: int = 200


Handler = Callable[[Call[Any]], Awaitable[object]]
Handlers = Mapping[Endpoint[Any, Any], Handler]


class Refusal(Exception):
    """Carries a problem out of a use case to the caller."""

    code = "refusal"

    def __init__(self, reason: Problem) -> None:
        super().__init__(reason.code)
        self.problem = reason


def accepted(value: T | Refused) -> T:
    """Return the value of an outcome, or raise its refusal as the problem of the same code."""
    if isinstance(value, Refused):
        code = value.code if value.code in PROBLEMS else "transition_refused"
        raise Refusal(problem(code, value.reason))
    return value
